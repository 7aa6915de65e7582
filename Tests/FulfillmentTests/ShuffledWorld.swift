import ChanceTesting
import Foundation
import Messages
import PurchaseModel

/// Accounts, transactions and proofs, made by chance and the same for the same seed.
struct ShuffledWorld: Sendable {
    /// A receipt or a signed transaction that an account posted.
    struct Proof: Sendable {
        let id: String
        let account: String
        let transactions: [String]
        /// As `VerdictMessage.claims`.
        let claims: [String]?
        let isSigned: Bool
        /// How many messages its verdict has.
        let parts: Int
    }

    /// Every seventh transaction is of a product that is not in the first catalogue.
    static let wholeCatalogue = Catalogue([
        Bench.app: ["gems.100", "hat"].map { id in
            Catalogue.Product(
                id: id, type: .consumable, items: [Catalogue.ItemGrant(item: id, amount: 100)], entitlements: [])
        }
    ])

    private static let accounts = ["anna", "ben", "cleo", "dora"]
    private static let transactionsCount = 50
    private static let receiptsCount = 30
    private static let signedCount = 30

    /// Whose the tokens of some transactions are; other tokens are nobody's.
    private(set) var registered: [UUID: String] = [:]
    private(set) var proofs: [Proof] = []
    private var tokens: [String: UUID] = [:]
    private var chance: SplitMix

    init(seed: UInt64) {
        chance = SplitMix(seed: seed)
        for index in 0..<Self.transactionsCount {
            let kind = Int.random(in: 0..<4, using: &chance)
            guard kind >= 2 else { continue }
            let token = UUID()
            tokens["t\(index)"] = token
            if kind == 3 { registered[token] = Self.accounts.randomElement(using: &chance) }
        }
        for index in 0..<Self.receiptsCount { proofs.append(receipt("r\(index)")) }
        for index in 0..<Self.signedCount {
            let id = "t\(Int.random(in: 0..<Self.transactionsCount, using: &chance))"
            proofs.append(
                Proof(
                    id: "j\(index)", account: Self.accounts.randomElement(using: &chance) ?? "anna",
                    transactions: [id], claims: nil, isSigned: true, parts: 1))
        }
    }

    private mutating func receipt(_ id: String) -> Proof {
        let count = Int.random(in: 1...12, using: &chance)
        let held = (0..<Self.transactionsCount).shuffled(using: &chance).prefix(count).map { "t\($0)" }
        var claims: [String]?
        if count > 1 { claims = Array(held.suffix(Int.random(in: 0...2, using: &chance))) }
        return Proof(
            id: id, account: Self.accounts.randomElement(using: &chance) ?? "anna", transactions: held,
            claims: claims, isSigned: false, parts: count > 6 ? Int.random(in: 1...3, using: &chance) : 1)
    }

    /// What a signed transaction says of its buyer, where one was posted.
    func token(of id: String) -> UUID? {
        proofs.contains { $0.isSigned && $0.transactions == [id] } ? tokens[id] : nil
    }

    /// Who may have a transaction in the end, by whatever order; `-` is nobody.
    func owners(of id: String) -> Set<String> {
        let signed = proofs.filter { $0.isSigned && $0.transactions == [id] }
        var owners = Set(
            proofs.filter { !$0.isSigned && $0.transactions.contains(id) && ($0.claims?.contains(id) ?? true) }
                .map(\.account))
        if let token = token(of: id) {
            owners.insert(registered[token] ?? "-")
        } else {
            owners.formUnion(signed.map(\.account))
        }
        return owners.isEmpty ? ["-"] : owners
    }

    /// The messages of a proof's verdict; what is claimed stands in the last one.
    func messages(of proof: Proof, _ bench: Bench) async throws -> [VerdictMessage] {
        let transactions = proof.transactions.map { id in
            let product = Int(id.dropFirst()).map { $0 % 7 == 0 } == true ? "hat" : "gems.100"
            return proof.isSigned
                ? Bench.signed(id, product: product, token: tokens[id]) : Bench.entry(id, product: product)
        }
        let size = (transactions.count + proof.parts - 1) / proof.parts
        var messages: [VerdictMessage] = []
        for start in stride(from: 0, to: transactions.count, by: size) {
            let part = Array(transactions[start..<min(start + size, transactions.count)])
            let ids = part.map(\.transactionId)
            messages.append(
                try await bench.verdict(
                    proof.id, .genuine(part), account: proof.account,
                    claims: proof.claims.map { $0.filter(ids.contains) },
                    isPartial: start + size < transactions.count))
        }
        return messages
    }

    /// The messages as a broker may hand them over: repeated, in any order, in batches of any size, to several processes.
    ///
    /// Of one proof, what comes first comes in the order in which it was sent, as everything of one key does.
    mutating func delivered(_ messages: [VerdictMessage], streams: Int) -> [[[VerdictMessage]]] {
        (0..<streams).map { _ in
            let again = messages.filter { _ in Bool.random(using: &chance) }.shuffled(using: &chance)
            var sent = Dictionary(grouping: messages + again, by: \.submissionId)
            var rest = (messages + again).map(\.submissionId).shuffled(using: &chance)
                .compactMap { sent[$0]?.removeFirst() }
            var batches: [[VerdictMessage]] = []
            while !rest.isEmpty {
                let count = min(rest.count, Int.random(in: 1...15, using: &chance))
                batches.append(Array(rest.prefix(count)))
                rest.removeFirst(count)
            }
            return batches
        }
    }
}
