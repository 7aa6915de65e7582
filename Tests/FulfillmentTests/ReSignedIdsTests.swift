import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// One transaction id that Apple signs twice, otherwise: of another type, product, original id, date or owner.
///
/// Whatever it says, the audit is clean: an order's keys follow from its row, and its lineage is there.
@Suite("A transaction that is signed anew otherwise", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct ReSignedIdsTests {
    struct Change: Sendable, CustomTestStringConvertible {
        let name: String
        let make: @Sendable (inout Transaction) -> Void
        var testDescription: String { name }

        init(_ name: String, _ make: @escaping @Sendable (inout Transaction) -> Void = { _ in }) {
            (self.name, self.make) = (name, make)
        }
    }

    private static let kinds: [Change] = [
        Change("as it is"), Change("no environment") { $0.environment = nil },
        Change("an expired signer") { $0.hasExpiredSigner = true }, Change("assigned") { $0.ownership = "ASSIGNED" },
        Change("a family's") { $0.ownership = "FAMILY_SHARED" },
        Change("a new type") { $0.productType = ProductType(appleName: "Bundle") },
        Change("no type") { $0.productType = .unstated },
        Change("no type, no end") { ($0.productType, $0.expiresDate) = (.unstated, nil) },
        Change("consumable") { $0.productType = .consumable },
        Change("non-consumable") { $0.productType = .nonConsumable },
        Change("non-renewing") { $0.productType = .nonRenewing }, Change("unknown product") { $0.productId = "other" },
        Change("a token") { $0.appAccountToken = UUID() }, Change("a new offer") { $0.offerType = 99 },
        Change("no line item") { $0.webOrderLineItemId = nil },
        Change("years later") { $0.purchaseDate += 100_000_000 },
    ]

    private static let moves: [Change] = [
        Change("as it is"), Change("another original id") { $0.originalTransactionId = "p" },
        Change("another app") { $0.bundleId = "com.example.other" },
        Change("another original id and product") { ($0.originalTransactionId, $0.productId) = ("p", "other") },
        Change("another original id and date") {
            $0.originalTransactionId = "p"
            $0.purchaseDate += 100_000_000
        },
    ]

    private static func month(_ number: Int, _ changes: Change..., signed: TimeInterval = 0) -> Transaction {
        var transaction = Bench.season(1)
        transaction.originalTransactionId = "o"
        transaction.webOrderLineItemId = "w\(number)"
        transaction.signedDate += signed
        for change in changes { change.make(&transaction) }
        transaction.transactionId = "t\(number)"
        transaction.originalTransactionId += "\(number)"
        return transaction
    }

    @Test(arguments: kinds)
    func `the books are right after any second word`(first: Change) async throws {
        try await Bench.withOwners { bench in
            var number = 0
            for second in Self.kinds {
                for move in Self.moves {
                    for age in [-100.0, 100] {
                        number += 1
                        try await bench.notify("n\(number)a", Self.month(number, first))
                        try await bench.notify("n\(number)b", Self.month(number, second, move, signed: age))
                    }
                }
            }
            #expect(try await bench.number("SELECT count(*) FROM orders") >= Int64(number))
            try await bench.expectClean()
        }
    }

    @Test func `what names no environment moves no lineage`() async throws {
        try await Bench.withOwners { bench in
            try await bench.post("s1", Self.month(1), by: "anna")
            try await bench.notify("n1", Self.month(1, Self.kinds[1], Self.moves[1], signed: 100))
            #expect(try await bench.answers("SELECT original_transaction_id FROM orders") == ["o1"])
            try await bench.expectClean()
        }
    }

    @Test func `an original id with colons is one like others`() async throws {
        try await Bench.withOwners { bench in
            for (number, id) in ["t", "u"].enumerated() {
                var month = Self.month(
                    1,
                    Change("") { ($0.originalTransactionId, $0.webOrderLineItemId) = ("2026-01-01T00:00:00Z", nil) })
                month.transactionId = id
                try await bench.post("s\(number)", month, by: "anna")
            }
            #expect(try await bench.gems(of: "anna") == 10)
            try await bench.expectClean()
        }
    }

    @Test func `daylight saving time's end changes no key, a later date does`() async throws {
        try await Bench.withOwners { bench in
            func key() async throws -> [String] { try await bench.answers("SELECT fallback_key FROM orders") }
            let second = Int64(Self.month(1).purchaseDate.timeIntervalSince1970)
            try await bench.notify("n1", Self.month(1))
            try await bench.notify("n2", Self.month(1, Change("") { $0.purchaseDate += 3_600 }, signed: 100))
            #expect(try await key() == ["d:o1:vip:\(second)"])
            try await bench.notify("n3", Self.month(1, Change("") { $0.purchaseDate += 90_000 }, signed: 200))
            #expect(try await key() == ["d:o1:vip:\(second + 90_000)"])
            try await bench.expectClean()
        }
    }
}
