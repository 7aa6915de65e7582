import EventProcessing
import Foundation
import LogTesting
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import ServiceRuntime
import Synchronization
import Testing

@testable import Fulfillment

/// Fulfillment on a database of its own.
struct Bench: Sendable {
    static let app = "com.example.game"
    static let catalogue = Catalogue([
        app: [
            Catalogue.Product(
                id: "gems.100", type: .consumable, items: [Catalogue.ItemGrant(item: "gem", amount: 100)],
                entitlements: []),
            Catalogue.Product(id: "pro", type: .nonConsumable, items: [], entitlements: ["pro"]),
        ]
    ])
    static let skipComment: Comment = "SKIPPED: no PostgreSQL; run deploy/test, or set COUNTERSIGN_TEST_POSTGRES"

    let pool: PostgresPool
    let published = Published()
    /// The alarms.
    let lines = CapturedLog()
    let log = CapturedLog()
    let signatures = Signatures()
    var alarmAge = Duration.seconds(3600)
    var products = Bench.catalogue
    /// What the apps file says.
    var apps = CurrentApps(nil)
    /// What time it is for subscriptions, and for the limits of restoring.
    var now: @Sendable () -> Date = { Date() }

    static func with(_ body: (Bench) async throws -> Void) async throws {
        try await TestDatabase.with { pool in
            try await body(Bench(pool: pool))
            try await EventSchemaCheck.expectDescribed(pool)
        }
    }

    init(pool: PostgresPool) {
        self.pool = pool
    }

    /// What was published, kept for looking at.
    final class Published: Sendable {
        private let messages = Mutex<[(topic: String, event: CloudEvent)]>([])

        private var events: [CloudEvent] { messages.withLock { $0 }.map(\.event) }

        func add(_ further: [(topic: String, event: CloudEvent)]) {
            messages.withLock { $0 += further }
        }

        /// The topics that a type went to.
        func topics(of type: String) -> Set<String> {
            Set(messages.withLock { $0 }.filter { $0.event.type == type }.map(\.topic))
        }

        func count(_ type: String) -> Int {
            events.count { $0.type == type }
        }

        /// What submissions were said to have become, in the order it was said.
        func settlements(of id: String) throws -> [SubmissionOutcome] {
            try events.filter { $0.type == SettlementMessage.type && $0.id == id }.map {
                try MessageCoding.decode(SettlementMessage.self, from: $0.data).outcome
            }
        }
    }

    /// Apple's clock, as far as it dates what a device asks for: each time a thousandth of a second later.
    final class Signatures: Sendable {
        private let count = Mutex(0)

        /// The same transaction as Apple signs it for whoever asks next.
        func resigned(_ transactions: [Transaction]) -> [Transaction] {
            let milliseconds = count.withLock { count in
                count += 1
                return count
            }
            return transactions.map { transaction in
                var signed = transaction
                signed.signedDate += Double(milliseconds) / 1_000
                return signed
            }
        }
    }

    private var submissions: SettleSubmissions {
        SettleSubmissions(backOff: BackOff(delayMaximum: .seconds(60)))
    }

    private var subscriptions: UpdateSubscriptions { UpdateSubscriptions(now: now) }

    /// The catalogue, under its number in this database.
    private var catalogues: CurrentCatalogue {
        let store = CatalogueStore(pool: pool)
        return CurrentCatalogue(CatalogueFile.Loaded(catalogue: products, text: "\(products.knownProducts)")) {
            try await store.version(of: $0)
        }
    }

    private static let eventLease = Duration.seconds(30)

    /// Settles a batch of verdicts.
    func settle(
        _ verdicts: [VerdictMessage], by other: CurrentCatalogue? = nil,
        doubtful: DoubtfulProducts = DoubtfulProducts()
    ) async throws {
        let fulfill = FulfillVerdicts(
            pool: pool, catalogues: other ?? catalogues,
            load: LoadBatch(
                logger: log.logger(), canBeAsked: { apps.canBeAsked($0) }, now: now),
            subscriptions: subscriptions, submissions: submissions, eventLease: Self.eventLease,
            announce: AnnounceOutcomes { published.add($0) },
            doubtful: doubtful, calls: QueueAppleCalls(apps: apps, finishDelay: .zero),
            notifications: RecordNotifications(apps: apps, logger: log.logger()), doubts: AskAboutDoubts(apps: apps),
            values: NoteUnknownValues(logger: log.logger()))
        try await fulfill.fulfill(verdicts)
    }

    /// Looks for submissions that are too old.
    func lookForAlarms() async throws {
        try await RaiseAlarms(store: SubmissionStore(pool: pool), age: alarmAge, logger: lines.logger()).look()
    }

    /// Looks for parked orders whose doubt is over, as a process does that has just started.
    func grantParked(limit: Int = 1000) async throws -> Int {
        let requested = try await releaseRequested.look(limit: limit)
        let byCatalogue = try await ReleaseByCatalogue(orders: releaseOrders()).look(limit: limit)
        return requested.count + byCatalogue.count
    }

    /// What takes up tokens and operators' claims.
    var releaseRequested: ReleaseRequested { ReleaseRequested(orders: releaseOrders()) }

    /// What decides parked orders anew.
    func releaseOrders(
        _ catalogues: CurrentCatalogue? = nil, doubtful: DoubtfulProducts = DoubtfulProducts()
    ) -> ReleaseOrders {
        ReleaseOrders(
            pool: pool, catalogues: catalogues ?? self.catalogues, doubtful: doubtful, now: now,
            subscriptions: subscriptions, submissions: submissions,
            announce: AnnounceOutcomes { published.add($0) }, eventLease: Self.eventLease,
            calls: QueueAppleCalls(apps: apps, finishDelay: .zero))
    }

    /// Accepts a submission and returns the verdict that a worker would send.
    func verdict(
        _ id: String, _ verdict: Verdict, account: String = "player", claims: [String]? = nil,
        isPartial: Bool = false, attempt: Int = 0, app: String = Bench.app
    ) async throws -> VerdictMessage {
        let message = SubmissionMessage(
            submissionId: id, app: app, account: account, kind: .receipt, proof: "cmVjZWlwdA==", attempt: 0,
            correlationId: "req_\(id)")
        _ = try await SubmissionStore(pool: pool).accept(
            [SubmissionStore.NewSubmission(message: message, partitionKey: account)], lease: .seconds(30))
        return VerdictMessage(
            submissionId: id, app: app, account: account, correlationId: "req_\(id)", attempt: attempt,
            verdict: verdict, claims: Claims(ids: claims), isPartial: isPartial)
    }

    /// A transaction as a receipt tells of it: no type, no price, no owner.
    static func entry(
        _ id: String, product: String = "gems.100", environment: StoreEnvironment = .production
    ) -> Transaction {
        Transaction(
            environment: environment, transactionId: id, originalTransactionId: id, bundleId: app,
            productId: product, productType: .unstated, quantity: 1,
            purchaseDate: Date(timeIntervalSince1970: 1_700_000_000),
            signedDate: Date(timeIntervalSince1970: 1_700_000_500))
    }

    /// The same as StoreKit 2 signs it.
    static func signed(
        _ id: String, product: String = "gems.100", token: UUID? = nil, environment: StoreEnvironment = .production
    ) -> Transaction {
        var transaction = entry(id, product: product, environment: environment)
        transaction.productType = product == "pro" ? .nonConsumable : .consumable
        transaction.signedDate = Date(timeIntervalSince1970: 1_700_000_001)
        transaction.ownership = "PURCHASED"
        transaction.priceMilliunits = 990
        transaction.currency = "EUR"
        transaction.storefront = "DEU"
        transaction.appAccountToken = token
        transaction.evidence = #"{"transactionId":"\#(id)"}"#
        return transaction
    }

    /// The column of an order, as text; nil where it is null.
    func column(_ name: String, of id: String, _ environment: StoreEnvironment = .production) async throws -> String? {
        let result = try await pool.query(
            "SELECT (\(name))::text AS value FROM orders WHERE environment = $1 AND transaction_id = $2",
            [.text(environment.rawValue), .text(id)])
        return try #require(result.rows.first).decodeIfPresent("value", as: String.self)
    }

    /// `state reason account` of an order, with `-` for null.
    func standing(of id: String, _ environment: StoreEnvironment = .production) async throws -> String? {
        try await column(
            "concat_ws(' ', state, coalesce(reason, '-'), coalesce(account, '-'))", of: id, environment)
    }

    /// What the app is told of a submission.
    func outcome(_ id: String) async throws -> SubmissionOutcome? {
        try await SubmissionStore(pool: pool).statuses(of: [id])[id]?.outcome
    }

    /// A number out of the database.
    func number(_ sql: String) async throws -> Int64 {
        let row = try #require(try await pool.query("SELECT (\(unescaped: sql))::int8 AS n").rows.first)
        return try row.decode("n", as: Int64.self)
    }

    /// Every rule of the audit holds.
    func expectClean(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for rule in try await ConsistencyCheck(pool: pool).run().rules {
            #expect(rule.examples.isEmpty, "\(rule.sentence)", sourceLocation: sourceLocation)
        }
    }
}
