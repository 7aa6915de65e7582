import ChanceTesting
import CountersignClientStoreKit
import Foundation
import StoreKit
import StoreKitTesting
import StoreTesting
import Synchronization
import Testing

/// Random lives of an app on a phone: two players, owned products, names of an earlier version, journals that cannot be read, StoreKit's
/// views, a server that goes away, refunds that are reversed, and the app killed at any instant.
///
/// `COUNTERSIGN_PHONE_LIVES` says how many; seed N is the N-th.
@Suite("Lives of an app on a phone")
struct PhoneLivesTests {
    @Test(
        "each paid purchase is granted once, to who paid, and nothing is finished before the server said so",
        .timeLimit(.minutes(10)))
    func lives() async throws {
        let wanted = ProcessInfo.processInfo.environment["COUNTERSIGN_PHONE_LIVES"].flatMap(Int.init) ?? 200
        var tally = PhoneLife.Tally()
        for seed in 1...wanted {
            let life = PhoneLife(seed: UInt64(seed))
            try await life.phone.device.run { try await life.live() }
            let faults = await life.faults()
            #expect(faults.isEmpty, "seed \(seed): \(faults.joined(separator: "; "))")
            tally.add(await life.tally)
        }
        #expect(tally.sales > wanted && tally.kills > wanted && tally.views > wanted / 4 && tally.again > 0)
        print("\(wanted) lives: \(tally)")
    }
}

/// One life.
private actor PhoneLife {
    struct Tally: CustomStringConvertible {
        var sales = 0
        var kills = 0
        var views = 0
        var blind = 0
        var again = 0

        mutating func add(_ other: Tally) {
            sales += other.sales
            kills += other.kills
            views += other.views
            blind += other.blind
            again += other.again
        }

        var description: String {
            "\(sales) sales, \(kills) kills, \(views) by views, \(blind) unreadable journals, \(again) owned already"
        }
    }

    static let names: [String: String] = ["10042": "anna"]
    static let products = [Shelf.gems, Shelf.castle, Shelf.castle, Shelf.pass]

    let phone: Phone
    private(set) var tally = Tally()
    private var random: SplitMix
    private var found: [String] = []
    /// What was sold before the last launch: a payment sheet that was open when the app was killed may sell later still.
    private var toDeliver: Set<UInt64> = []

    init(seed: UInt64) {
        random = SplitMix(seed: seed)
        phone = Phone(seed % 2 == 0 ? .storeKit1 : .storeKit2)
    }

    func live() async throws {
        for _ in 0..<Int.random(in: 2...4, using: &random) { try await launch() }
        try await end()
    }

    /// What went wrong.
    func faults() async -> [String] {
        let (owners, granted) = (await phone.server.owners, await phone.server.granted)
        if Set(granted).count != granted.count { found.append("granted twice: \(granted)") }
        for sale in phone.device.sales {
            let id = "\(sale.id)"
            guard toDeliver.contains(sale.id) || owners[id] != nil else { continue }
            if let buyer = await phone.server.buyer(of: sale.token), owners[id] != buyer {
                found.append("\(id) of \(buyer) is \(owners[id] ?? "nobody's")")
            }
            switch sale.username {
            case "10042" where owners[id] != "anna": found.append("\(id) of 10042 is \(owners[id] ?? "nobody's")")
            case "99999":
                if owners[id] != nil || sale.isFinished {
                    found.append("\(id) of 99999 is \(owners[id] ?? "finished")")
                }
                continue
            default: break
            }
            if owners[id] == nil { found.append("\(id) is nobody's") }
            if !sale.isFinished, toDeliver.contains(sale.id) { found.append("\(id) is not finished") }
        }
        tally.sales = phone.device.sales.count
        return found
    }

    private func launch() async throws {
        misbehave()
        let isBlind = chance(4)
        phone.storage.isUnreadable = isBlind
        if isBlind { tally.blind += 1 }
        if chance(3) { outside() }
        let queue = try await phone.open(legacyAccount: { Self.names[$0] })
        await queue.start()
        if !chance(4) { await queue.logIn(chance(2) ? "anna" : "ben") }
        for _ in 0..<Int.random(in: 2...6, using: &random) { await act(queue) }
        if chance(2) { await phone.settle(queue) }
        await phone.kill(queue)
        tally.kills += 1
        let owners = await phone.server.owners
        for id in phone.device.log.finished where owners["\(id)"] == nil { found.append("\(id) finished unanswered") }
    }

    private func act(_ queue: PurchaseQueue) async {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: await queue.logIn(chance(2) ? "anna" : "ben")
        case 1: await queue.logOut()
        case 2: await phone.server.goDown(chance(2), purchasesOnly: chance(2))
        case 3:
            phone.storage.isUnreadable = false
            await queue.enterForeground()
        case 4: outside()
        case 5: phone.device.approve()
        case 6:
            guard let sale = phone.device.sales.randomElement(using: &random) else { return }
            phone.device.refund(sale.id)
            if chance(2) { await phone.settle(queue) }
            phone.device.reverseRefund(sale.id)
        default: await buy(queue)
        }
    }

    /// Something happens without the app: an earlier version's purchase, which this one finds.
    private func outside() {
        guard phone.interface == .storeKit1 else { return }
        phone.device.bring(Shelf.gems, username: chance(3) ? "99999" : "10042")
    }

    private func buy(_ queue: PurchaseQueue) async {
        guard let product = Self.products.randomElement(using: &random) else { return }
        let buyer = await queue.currentAccount ?? "anna"
        let isView = phone.interface == .storeKit2 && chance(2)
        let isTold = chance(2)
        if isView { tally.views += 1 }
        let ended = Ended()
        let buying = Task {
            defer { ended.end() }
            if isView { return await Self.press(product, queue, buyer, isTold: isTold) }
            return (try? await queue.purchase(product, for: buyer)).map { [$0] } ?? []
        }
        // Killed at any instant, or waited for.
        guard chance(2) else {
            for _ in 0..<Int.random(in: 0...20, using: &random) { await Task.yield() }
            return
        }
        while !ended.isOver {
            await phone.settle(queue)
            phone.time.advance(by: 30)
            await Task.yield()
        }
        for case .earlierPurchase in await buying.value { tally.again += 1 }
    }

    /// What one of StoreKit's views does.
    private static func press(
        _ productID: String, _ queue: PurchaseQueue, _ buyer: String, isTold: Bool
    ) async -> [CountersignClient.PurchaseResult] {
        guard let product = try? await Product.products(for: [productID]).first else { return [] }
        let options = await queue.options(for: product, buyer: buyer)
        guard await queue.currentAccount == buyer, let result = try? await product.purchase(options: options), isTold
        else { return [] }
        return (try? await queue.take(.success(result), of: product)).map { [$0] } ?? []
    }

    private func misbehave() {
        let all: [DeviceFaults] = [
            .givesEarlierAsSuccess, .hidesNewest, .showsFinished, .isSilentAtLaunch, .failsAfterPaying, .cannotVerify,
            .asksForApproval, .hasNoReceipt, .isCancelled,
        ]
        phone.device.misbehave(DeviceFaults(all.filter { _ in chance(6) }))
    }

    /// Everything works again, and each player comes back.
    private func end() async throws {
        phone.device.misbehave([])
        await phone.server.goDown(false)
        phone.storage.isUnreadable = false
        phone.device.approve()
        toDeliver = Set(phone.device.sales.map(\.id))
        let queue = try await phone.open(legacyAccount: { Self.names[$0] })
        await queue.start()
        for account in ["anna", "ben", "anna", "ben"] {
            await queue.logIn(account)
            for _ in 0..<3 {
                await queue.enterForeground()
                await phone.settle(queue)
                phone.time.advance(by: 30_000)
            }
            // Sold without a token while several were buying: a person says whose it is.
            for purchase in await queue.pending() where purchase.outcome == .processing(.claim) {
                guard let id = UInt64(purchase.transactionID),
                    let sale = phone.device.sales.first(where: { $0.id == id }),
                    await phone.server.buyer(of: sale.token) ?? account == account
                else { continue }
                try await queue.claim(transactionID: purchase.transactionID)
                await phone.settle(queue)
            }
        }
        await phone.kill(queue)
    }

    private func chance(_ oneIn: Int) -> Bool { Int.random(in: 0..<oneIn, using: &random) == 0 }
}

/// Whether something is over.
private final class Ended: Sendable {
    private let state = Mutex(false)

    var isOver: Bool { state.withLock { $0 } }

    func end() { state.withLock { $0 = true } }
}
