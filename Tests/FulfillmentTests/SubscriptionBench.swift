import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel
import Synchronization
import Testing

@testable import Fulfillment

/// A bench that sells subscriptions, with a clock of its own.
///
/// Days count from when the subscription began.
struct SubscriptionBench: Sendable {
    static let catalogue = Catalogue([
        Bench.app: ["basic", "lite", "premium"].map { id in
            Catalogue.Product(id: id, type: .autoRenewable, items: [], entitlements: [id])
        } + [
            Catalogue.Product(
                id: "season", type: .nonRenewing, items: [], entitlements: ["arena", "season"],
                duration: ProductDuration("P30D"))
        ]
    ])

    var bench: Bench
    private let clock: Clock

    private final class Clock: Sendable {
        let day = Mutex(0.0)
        let posted = Mutex(0)
    }

    static func with(_ body: (SubscriptionBench) async throws -> Void) async throws {
        try await Bench.with { bench in try await body(SubscriptionBench(bench)) }
    }

    init(_ bench: Bench) {
        let clock = Clock()
        self.clock = clock
        self.bench = bench
        self.bench.products = Self.catalogue
        self.bench.now = { Self.day(clock.day.withLock { $0 }) }
    }

    static func day(_ number: Double) -> Date { Date(timeIntervalSince1970: 1_700_000_000 + number * 86_400) }

    /// What time it is from now on.
    func on(_ day: Double) {
        clock.day.withLock { $0 = day }
    }

    /// A period as Apple signs it when it is bought.
    static func period(
        _ id: String, from start: Double, to end: Double, product: String = "basic", lineage: String = "1",
        signed: Double? = nil, _ change: (inout Transaction) -> Void = { _ in }
    ) -> Transaction {
        var transaction = Bench.signed(id, product: product)
        transaction.originalTransactionId = lineage
        transaction.productType = .autoRenewable
        transaction.purchaseDate = day(start)
        transaction.expiresDate = day(end)
        transaction.signedDate = day(signed ?? start)
        change(&transaction)
        return transaction
    }

    /// What Apple signs about the next renewal.
    static func renewal(
        signed: Double, lineage: String = "1", _ change: (inout RenewalStatement) -> Void = { _ in }
    ) -> RenewalStatement {
        var statement = RenewalStatement(
            environment: .production, originalTransactionId: lineage, productId: "basic", signedDate: day(signed))
        statement.willRenew = true
        change(&statement)
        return statement
    }

    /// The verdict on a proof that an account posted.
    func verdict(
        _ transactions: [Transaction], _ renewals: [RenewalStatement] = [], account: String = "player"
    ) async throws -> VerdictMessage {
        let number = clock.posted.withLock { posted in
            posted += 1
            return posted
        }
        var message = try await bench.verdict("sub\(number)", .genuine(transactions), account: account)
        message.renewals = renewals
        return message
    }

    /// Settles one proof.
    func post(
        _ transactions: [Transaction], _ renewals: [RenewalStatement] = [], account: String = "player"
    ) async throws {
        try await bench.settle([try await verdict(transactions, renewals, account: account)])
    }

    /// What ends subscriptions.
    var endSubscriptions: EndSubscriptions {
        EndSubscriptions(
            pool: bench.pool, subscriptions: UpdateSubscriptions(now: bench.now),
            announce: AnnounceOutcomes { bench.published.add($0) }, eventLease: .seconds(30))
    }

    /// What tells of entitlements that have ended.
    var endEntitlements: EndEntitlements {
        EndEntitlements(
            pool: bench.pool, announce: AnnounceOutcomes { bench.published.add($0) }, eventLease: .seconds(30),
            now: bench.now)
    }

    /// Where a subscription stands; nil while it is not known.
    func standing(_ lineage: String = "1") async throws -> SubscriptionStanding? {
        let result = try await bench.pool.query(
            "SELECT standing::text AS standing FROM subscriptions WHERE original_transaction_id = $1",
            [.text(lineage)])
        return try result.rows.first.map { row in
            let text: String = try row.decode("standing")
            return try MessageCoding.decode(SubscriptionStanding.self, from: Array(text.utf8))
        }
    }

    /// The types of the events told to an account, without their first word, in their order.
    func events(of account: String = "player", like pattern: String = "iap.subscription.%") async throws -> [String] {
        let result = try await bench.pool.query(
            "SELECT type FROM events WHERE account = $1 AND type LIKE $2 ORDER BY sequence",
            [.text(account), .text(pattern)])
        return try result.rows.map { row in
            String(try row.decode("type", as: String.self).split(separator: ".").last ?? "")
        }
    }

    /// The newest event of a type.
    func event(_ type: String) async throws -> PurchaseEvent? {
        let result = try await bench.pool.query(
            "SELECT body FROM events WHERE type = $1 ORDER BY sequence DESC LIMIT 1", [.text(type)])
        return try result.rows.first.map { row in
            try MessageCoding.decode(PurchaseEvent.self, from: Array(try row.decode("body", as: String.self).utf8))
        }
    }

    /// `order account day-of-end cause` of every entitlement, sorted, with `-` for null.
    func entitlements() async throws -> [String] {
        let result = try await bench.pool.query(
            """
            SELECT transaction_id, account, expires_at, coalesce(revoked_because, '-') AS cause FROM entitlements
            ORDER BY transaction_id COLLATE "C", account, entitlement
            """)
        return try result.rows.map { row in
            let end = try row.decodeIfPresent("expires_at", as: Date.self).map { date in
                (date.timeIntervalSince(Self.day(0)) / 86_400).formatted(.number.locale(Locale(identifier: "en_US")))
            }
            return [
                try row.decode("transaction_id", as: String.self), try row.decode("account", as: String.self),
                end ?? "-", try row.decode("cause", as: String.self),
            ].joined(separator: " ")
        }
    }
}
