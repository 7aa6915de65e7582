import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("The store and its journal")
struct StoreTests {
    private static func signer() throws -> PayloadSigner {
        try PayloadSigner(chain: try CertificateAuthority(now: Date()).chain)
    }

    private static func file() -> URL {
        FileManager.default.temporaryDirectory.appendingPathComponent("store-\(UUID().uuidString).journal")
    }

    private static func purchase(_ account: String) -> Purchase {
        Purchase(bundleId: "a.b", productId: "coins", environment: .production, accountId: account)
    }

    private static func addProduct(_ state: inout StoreState) {
        _ = state.ensureApp("a.b")
        state.put(
            ProductRecord(
                bundleId: "a.b", productId: "coins", type: .consumable, price: 990, currency: "USD",
                storefrontPrices: [:], level: 1, isFamilyShareable: false, isForSale: true, offers: []))
    }

    @Test("what was sold is there after a restart, with its indices and the clock")
    func restart() async throws {
        let file = Self.file()
        defer { try? FileManager.default.removeItem(at: file) }
        let signer = try Self.signer()
        let first = try Store(file: file, signer: signer, clock: SteppedTime().clock())
        try await first.setClock(SteppedTime.start + 5_000, speed: 0)
        let ids = try await first.change { state, now in
            Self.addProduct(&state)
            for _ in 0..<3 { _ = try state.buy(Self.purchase("alice\t\n\"x"), now: now) }
            try state.finish("2000000000000002", now: now + 1)
            return state.holdings[DownloadRecord.key("a.b", "alice\t\n\"x", .production)] ?? []
        }
        await first.close()
        #expect(ids == ["2000000000000001", "2000000000000002", "2000000000000003"])

        let clock = SteppedTime().clock()
        let second = try Store(file: file, signer: signer, clock: clock)
        let holdings = await second.read { $0.holdings[DownloadRecord.key("a.b", "alice\t\n\"x", .production)] }
        #expect(holdings == ids)
        #expect(await second.read { $0.transactions["2000000000000002"]?.isFinished } == true)
        #expect(await second.read { $0.transactions["2000000000000003"]?.isFinished } == false)
        #expect(await second.read { $0.orders.count } == 3)
        #expect(clock.now == SteppedTime.start + 5_000)
        #expect(clock.speed == 0)
        let revision = try await second.change { state, _ in state.nextNumber(.revision) }
        #expect(revision > 4)
        await second.close()
    }

    @Test("further transactions, and what devices have seen of them, are there after a restart")
    func restartAfterRestore() async throws {
        let file = Self.file()
        defer { try? FileManager.default.removeItem(at: file) }
        let signer = try Self.signer()
        let vendor = UUID()
        let first = try Store(file: file, signer: signer, clock: SteppedTime().clock())
        let ids = try await first.change { state, now in
            var app = state.ensureApp("a.b")
            app.familyWebOrderLineItem = AppRecord.FamilyLineItem.none
            state.put(app)
            var map = ServerAPIShop.product("map", .nonConsumable)
            map.bundleId = "a.b"
            state.put(map)
            state.put(DeviceRecord(id: "phone", accountId: "alice", vendorIdentifier: vendor.uuidString))
            var purchase = Self.purchase("alice")
            purchase.productId = "map"
            let id = try state.buy(purchase, now: now).transaction?.id ?? ""
            let dates = RestoreDates(originalPurchaseDate: .restore)
            for _ in 0..<3 {
                _ = try state.restoreCompletedTransactions(
                    on: "phone", bundleId: "a.b", environment: .production, dates: dates, now: now + 9_000)
            }
            let ids = state.transactionIds(ofPurchase: id)
            try state.refund(ids[2], percentage: nil, reason: 0, now: now)
            // The first changes last: the order of the ids does not follow it.
            try state.finish(ids[1], now: now)
            return ids
        }
        await first.close()
        #expect(ids.count == 4)
        let second = try Store(file: file, signer: signer, clock: SteppedTime().clock())
        await second.read { state in
            for id in ids { #expect(state.transactionIds(ofPurchase: id) == ids) }
            #expect(ids.map { state.transactions[$0]?.revocationDate != nil } == [false, false, true, false])
            #expect(state.isRevoked(purchase: ids[0]))
            #expect(state.transactions[ids[1]]?.receiptOriginalPurchaseDate == SteppedTime.start + 9_000)
            #expect(state.devicesByVendor == [vendor: "phone"])
            #expect(state.apps["a.b"]?.familyWebOrderLineItem == AppRecord.FamilyLineItem.none)
        }
        await second.close()
    }

    @Test("a line that a crash cut short is dropped, and nothing else")
    func cutShort() async throws {
        let file = Self.file()
        defer { try? FileManager.default.removeItem(at: file) }
        let signer = try Self.signer()
        let first = try Store(file: file, signer: signer, clock: SteppedTime().clock())
        try await first.change { state, _ in Self.addProduct(&state) }
        for _ in 0..<2 {
            _ = try await first.change { state, now in try state.buy(Self.purchase("bob"), now: now) }
        }
        await first.close()
        let whole = try Data(contentsOf: file)
        try whole.dropLast(10).write(to: file)
        let second = try Store(file: file, signer: signer, clock: SteppedTime().clock())
        #expect(await second.read { $0.transactions.count } == 1)
        let next = try await second.change { state, _ in state.nextNumber(.transactionId) }
        // The id that was lost was given out: it is not given again.
        #expect(next > 2_000_000_000_000_002)
        await second.close()
    }

    @Test(
        "a journal of something else is refused, and says what to do",
        arguments: ["x\n", "apps\t\"a\"\t{}\n", "a\tb\n"])
    func damaged(_ text: String) async throws {
        let file = Self.file()
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(text.utf8).write(to: file)
        let signer = try Self.signer()
        #expect(throws: StateDirectoryError.self) {
            _ = try Store(file: file, signer: signer, clock: SteppedTime().clock())
        }
    }

    @Test("what was changed before an error is kept, and the error told")
    func partial() async throws {
        struct Oops: Error {}
        let store = try Store(file: nil, signer: try Self.signer(), clock: SteppedTime().clock())
        await #expect(throws: Oops.self) {
            try await store.change { state, _ in
                Self.addProduct(&state)
                throw Oops()
            }
        }
        #expect(await store.read { $0.products.count } == 1)
        await store.close()
    }

    @Test("the journal's own way to write a transaction leaves nothing out", arguments: [false, true])
    func transactionText(isFull: Bool) throws {
        var row = TransactionRecord(
            transactionId: "1", originalTransactionId: "2", bundleId: "a\t\"b\"\n", productId: "p", purchaseDate: 3,
            originalPurchaseDate: 4, quantity: 5, type: .nonConsumable, environment: .sandbox, storefront: "USA",
            storefrontId: "6", accountId: "alice", orderId: "M", modifiedDate: 7)
        if isFull {
            row.webOrderLineItemId = "8"
            row.subscriptionGroupIdentifier = "9"
            row.expiresDate = 10
            row.appAccountToken = "11"
            row.isFamilyShared = true
            row.revocationDate = 12
            row.revocationReason = 1
            row.revocationType = .refundProrated
            row.revocationPercentage = 13
            row.isUpgraded = true
            row.offer = .init(kind: .code, identifier: "14", discount: .oneTime, period: Period(1, .week))
            row.isRenewal = true
            row.price = 15
            row.currency = "EUR"
            row.appTransactionId = "16"
            row.previousOriginalTransactionId = "17"
            row.advancedCommerceInfo = #"{"a":"b"}"#
            row.signs = #"{"type":null}"#
            row.deviceId = "18"
            row.sharedFromTransactionId = "19"
            row.sharingEndedDate = 21
            row.firstTransactionId = "22"
            row.receiptOriginalPurchaseDate = 23
            row.isFinished = true
            row.revision = 20
            // A field that is new in the record belongs here too.
            for child in Mirror(reflecting: row).children {
                let value = Mirror(reflecting: child.value)
                #expect(value.displayStyle != .optional || !value.children.isEmpty, "\(child.label ?? "?") is nil")
            }
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let expected = try encoder.encode(row)
        let read = try JSONDecoder().decode(TransactionRecord.self, from: Data(row.journalText.utf8))
        #expect(try encoder.encode(read) == expected)
    }

    @Test("the queue gives the earliest first, and equal ones in the order they came")
    func queue() {
        var queue = DueQueue()
        let dates: [Int64] = [5, 3, 9, 3, 1, 5, 7]
        for (index, date) in dates.enumerated() { queue.push(.subscription("\(index)"), at: date) }
        var seen: [String] = []
        while let entry = queue.popFirst() {
            if case .subscription(let id) = entry.kind { seen.append("\(entry.date):\(id)") }
        }
        #expect(seen == ["1:4", "3:1", "3:3", "5:0", "5:5", "7:6", "9:2"])
    }
}
