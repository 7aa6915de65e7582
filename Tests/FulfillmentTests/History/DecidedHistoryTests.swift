import ChanceTesting
import Foundation
import Messages
import PurchaseModel
import Testing

@testable import Fulfillment

/// The decisions by the hundred, without a database: the same signed data in any order leads to the same orders.
///
/// More seeds: `COUNTERSIGN_HISTORIES=1000`.
@Suite("Decided histories")
struct DecidedHistoryTests {
    private static let portions = HistorySeeds.portions(of: 50, count: 300)

    @Test(arguments: portions)
    func `one order a purchase, granted once at the most, and the same in any order`(seeds: [UInt64]) {
        for seed in seeds {
            let history = History(seed: seed, prefix: "h\(seed).")
            var chance = SplitMix(seed: seed)
            let messages = history.acts.indices.flatMap { history.messages(of: $0) }
            let ordered = decide(messages, of: history, &chance)
            let repeated = messages + messages.filter { _ in Int.random(in: 0..<2, using: &chance) == 0 }
            let shuffled = decide(repeated.shuffled(using: &chance), of: history, &chance)
            for world in [ordered, shuffled] {
                #expect(world.orders.count == history.purchases.count, "seed \(seed)")
                #expect(world.grants.values.allSatisfy { $0 == 1 }, "seed \(seed)")
            }
            let (first, second) = (state(of: ordered), state(of: shuffled))
            let differences = Set(first.keys).union(second.keys).sorted().filter { first[$0] != second[$0] }
            #expect(
                differences.isEmpty,
                "seed \(seed): \(differences.prefix(4).map { "\(first[$0] ?? []) and \(second[$0] ?? [])" })")
        }
    }

    private func decide(
        _ messages: [VerdictMessage], of history: History, _ chance: inout SplitMix
    ) -> MemoryOrders {
        let tokens = history.tokens.map { (AppToken(app: history.app, token: $0.key), Account(stored: $0.value)) }
        var world = MemoryOrders(
            catalogue: history.catalogue, tokens: Dictionary(uniqueKeysWithValues: tokens), now: History.end)
        var rest = messages[...]
        while !rest.isEmpty {
            let size = min(rest.count, Int.random(in: 1...12, using: &chance))
            world.settle(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return world
    }

    /// Where a purchase stands, or a lineage.
    private enum Standing: Hashable {
        case purchase(OrderState, ReasonCode?, Account?, Transaction?)
        case lineage(Account?)
    }

    /// How each purchase stands, by its first id: the id under which it was recorded depends on the order.
    private func state(of world: MemoryOrders) -> [String: Set<Standing>] {
        var standings: [String: Set<Standing>] = [:]
        for order in world.orders.values {
            let id = HistoryBuilder.firstId(of: order.key.transactionId)
            var transaction = order.purchase?.transaction
            transaction?.transactionId = id
            transaction?.sources = nil
            standings["\(order.key.environment) \(id)", default: []]
                .insert(.purchase(order.state, order.reason, order.account, transaction))
        }
        for lineage in world.lineages.values {
            standings["\(lineage.key.environment) \(lineage.key.originalTransactionId) lineage", default: []]
                .insert(.lineage(lineage.owner))
        }
        return standings
    }
}
