import EventProcessing
import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// Apple's ids are not shared by apps; an original id that two of them name holds up neither.
@Suite(
    "Original ids that two apps name", .enabled(if: TestDatabase.url != nil, Bench.skipComment),
    .timeLimit(.minutes(2)))
struct LineagesOfAppsTests {
    private static let other = "com.example.other"

    /// A first month of `vip`, which brings 10 gems.
    private static func month(
        _ id: String, under original: String, app: String = Bench.app, signed: Double = 0,
        _ change: (inout Transaction) -> Void = { _ in }
    ) -> Transaction {
        var transaction = Bench.season(1, signed: signed)
        transaction.transactionId = id
        transaction.originalTransactionId = original
        transaction.bundleId = app
        transaction.transactionReason = "PURCHASE"
        change(&transaction)
        return transaction
    }

    private static func with(_ body: (Bench) async throws -> Void) async throws {
        try await Bench.withOwners { bench in
            var bench = bench
            let vip = Catalogue.Product(
                id: "vip", type: .autoRenewable, items: [Catalogue.ItemGrant(item: "gem", amount: 10)],
                entitlements: ["vip"])
            bench.products = Catalogue([Bench.app: [vip], other: [vip]])
            try await body(bench)
            try await bench.expectClean()
        }
    }

    /// Settles what an account of the other app posts; what Apple does where nobody is named.
    private func postOther(
        _ id: String, _ transaction: Transaction, by account: String = "", _ bench: Bench
    ) async throws {
        try await bench.settle([
            try await bench.verdict(id, .genuine([transaction]), account: account, app: Self.other)
        ])
    }

    /// The lineages with their owners, and the members.
    private func lineages(_ bench: Bench) async throws -> [String] {
        try await bench.answers(
            """
            SELECT concat_ws(' ', original_transaction_id, account) FROM lineages
            UNION ALL SELECT concat_ws(' ', 'member', original_transaction_id, lineage_id) FROM lineage_members
            ORDER BY 1
            """)
    }

    @Test func `a purchase under an original id that another app named as an earlier one is granted`() async throws {
        try await Self.with { bench in
            try await postOther("s1", Self.month("b1", under: "o3", app: Self.other), by: "ben", bench)
            let bundle = Self.month("b1", under: "o3", app: Self.other, signed: 1) {
                $0.previousOriginalTransactionId = "o5"
            }
            try await postOther("n1", bundle, bench)
            #expect(try await lineages(bench) == ["member o5 o3", "o3 ben"])
            var verdict = try await bench.verdict("s2", .genuine([Self.month("a1", under: "o5")]), account: "anna")
            verdict.renewals = [
                RenewalStatement(
                    environment: .production, originalTransactionId: "o5", productId: "vip", signedDate: Bench.day(1))
            ]
            try await bench.settle([verdict])
            #expect(try await bench.standing(of: "a1") == "granted - anna")
            #expect(try await lineages(bench) == ["member o5 o3", "o3 ben", "o5 anna"])
            #expect(
                try await bench.answers(
                    "SELECT original_transaction_id FROM renewal_statements WHERE statement IS NOT NULL") == ["o5"])
        }
    }

    @Test func `a purchase that names another app's further original id as an earlier one joins nothing`()
        async throws
    {
        try await Self.with { bench in
            try await bench.post("s1", Self.month("a1", under: "o1"), by: "anna")
            try await bench.notify("n1", Self.month("a1", under: "o2", signed: 1))
            try await postOther("s2", Self.month("b1", under: "o3", app: Self.other), by: "ben", bench)
            let bundle = Self.month("b1", under: "o3", app: Self.other, signed: 1) {
                $0.previousOriginalTransactionId = "o2"
            }
            try await postOther("n2", bundle, bench)
            #expect(try await bench.standing(of: "b1") == "granted - ben")
            #expect(try await lineages(bench) == ["member o2 o1", "o1 anna", "o3 ben"])
        }
    }

    // Where nobody knows what was sold, an order comes without a lineage.
    @Test(arguments: [true, false])
    func `an order under another app's further original id is released, and holds up nobody`(
        isKnown: Bool
    ) async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.month("a1", under: "o1"), by: "anna")
            try await bench.notify("n1", Self.month("a1", under: "o2", signed: 1))
            let (token, second) = (UUID(), UUID())
            let held = Self.month("b1", under: "o2", app: Self.other) { transaction in
                transaction.appAccountToken = token
                guard !isKnown else { return }
                (transaction.productType, transaction.productId, transaction.expiresDate) = (.unstated, "hat", nil)
            }
            try await postOther("s2", held, bench)
            try await bench.notify("n2", Self.month("a2", under: "o4") { $0.appAccountToken = second })
            #expect(try await bench.standing(of: "b1") == "parked account_token_unknown -")
            _ = try await bench.releaseRequested.look(limit: 100)
            let tokens = AccountTokenStore(pool: bench.pool)
            _ = try await tokens.register(app: Self.other, token: token, account: "ben")
            _ = try await tokens.register(app: Bench.app, token: second, account: "cleo")
            #expect(try await bench.releaseRequested.look(limit: 100).count == 2)
            #expect(try await bench.standing(of: "b1") == (isKnown ? "granted - ben" : "parked product_unknown ben"))
            #expect(try await bench.standing(of: "a2") == "granted - cleo")
            #expect(try await bench.number("SELECT count(*) FROM release_requests") == 0)
        }
    }

    @Test func `joins of one batch end, whatever is read after each`() async throws {
        try await Self.with { bench in
            let verdict = try await bench.verdict("s1", .genuine([Self.month("a1", under: "o2")]), account: "anna")
            let row = SubmissionStore.Row(
                app: Bench.app, account: Account(stored: "anna"), kind: .receipt, isServer: false, state: .received)
            let statement = try #require(Statement.all(in: [Judged(verdict, row: row, place: 0)]).first)
            let link = LineageJoins.Link(
                statement: statement, other: LineageKey(environment: .production, originalTransactionId: "o1"),
                cause: .previousOriginal)
            try await bench.pool.withTransaction { connection in
                var joins = LineageJoins()
                for _ in 0...LineageJoins.roundsMaximum {
                    let news = joins.news([link])
                    try await joins.join(news, on: connection)
                }
                #expect(joins.made.count == LineageJoins.roundsMaximum)
                #expect(joins.news([link]).isEmpty)
                #expect(joins.conflicts.map(\.cause) == [.twoOwners])
            }
        }
    }
}
