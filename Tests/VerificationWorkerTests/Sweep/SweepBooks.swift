import AppStoreServerAPI
import Foundation
import Logging
import Messages
import NIOHTTP1
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment
@testable import ServiceRuntime
@testable import VerificationWorker

/// Books of a test's own, a store that signs, and what keeps the two together: the sweep, the worker's judges and fulfillment's
/// batches as in the processes, without topics between them.
struct SweepBooks: Sendable {
    static let catalogue = Catalogue([
        SubmissionFixture.app: [
            Catalogue.Product(
                id: "coins.100", type: .consumable, items: [Catalogue.ItemGrant(item: "coin", amount: 100)],
                entitlements: []),
            Catalogue.Product(id: "gold", type: .autoRenewable, items: [], entitlements: ["gold"]),
            Catalogue.Product(id: "pro", type: .nonConsumable, items: [], entitlements: ["pro"]),
        ]
    ])
    static let missing: Comment = "SKIPPED: COUNTERSIGN_TEST_POSTGRES or COUNTERSIGN_BIN_DIR is not set"
    static var isThere: Bool { TestDatabase.url != nil && Simulator.isThere }

    let stage: Stage
    let pool: PostgresPool
    /// What time it is for the sweep.
    var now: @Sendable () -> Date = { Date() }

    static func with(_ body: (SweepBooks) async throws -> Void) async throws {
        try await TestDatabase.with { pool in
            try await Stage.run { stage in try await body(SweepBooks(stage: stage, pool: pool)) }
        }
    }

    /// What sweeps as a worker does, with short times.
    func sweeper(_ access: AppStoreAccess, _ change: (inout SweepSettings) -> Void = { _ in }) -> Sweeper {
        var settings = SweepSettings()
        settings.lookback = .seconds(30 * 86_400)
        settings.planInterval = .seconds(3_600)
        settings.intentDelay = .zero
        change(&settings)
        return access.sweeper(settings, pool: pool, logger: Stage.quiet, now: now)
    }

    /// Sweeps until nothing is due, and lets everything that was found go its way.
    func sweep(_ access: AppStoreAccess, _ change: (inout SweepSettings) -> Void = { _ in }) async throws {
        let sweeper = sweeper(access, change)
        while try await sweeper.look() > 0 {}
        try await settle(access)
    }

    /// Has every customer asked about now; what waits by chance would take days.
    func hurry() async throws {
        _ = try await pool.query("UPDATE sweep_tasks SET due_at = now() WHERE due_at > now() AND claimed_at IS NULL")
    }

    /// What the topics do: whatever is due is judged and settled.
    func settle(_ access: AppStoreAccess) async throws {
        let store = CatalogueStore(pool: pool)
        let catalogues = CurrentCatalogue(CatalogueFile.Loaded(catalogue: Self.catalogue, text: "the sweep's")) {
            try await store.version(of: $0)
        }
        let apps = CurrentApps(
            AppsFile(apps: Dictionary(access.apps.all.map { ($0.bundleId, $0) }) { first, _ in first }))
        let fulfill = FulfillVerdicts(
            pool: pool, catalogues: catalogues,
            load: LoadBatch(logger: Stage.quiet, canBeAsked: { apps.canBeAsked($0) }),
            subscriptions: UpdateSubscriptions(),
            submissions: SettleSubmissions(backOff: BackOff(delayMaximum: .seconds(60))), eventLease: .seconds(30),
            announce: AnnounceOutcomes { _ in }, doubtful: DoubtfulProducts(),
            calls: QueueAppleCalls(apps: apps, finishDelay: .zero),
            notifications: RecordNotifications(apps: apps, logger: Stage.quiet), doubts: AskAboutDoubts(apps: apps),
            values: NoteUnknownValues(logger: Stage.quiet))
        let submissions = SubmissionStore(pool: pool)
        while true {
            let due = try await submissions.claimDue(limit: 100, lease: .seconds(60), leaseMaximum: .seconds(60))
            guard !due.submissions.isEmpty else { return }
            for submission in due.submissions {
                let finding = try await Stage.finding(submission.message, access: access)
                try await fulfill.fulfill(VerdictParts.messages(for: submission.message, finding))
            }
        }
    }

    /// A player's app posts what StoreKit gave it.
    func post(_ sold: Simulator.Sold, by account: String) async throws {
        let app = SubmissionFixture.app
        let id = SubmissionIdentifier.make(
            app: app, account: account, kind: .signedTransaction, proof: sold.signedTransaction)
        _ = try await SubmissionStore(pool: pool).accept(
            [
                SubmissionStore.NewSubmission(
                    message: SubmissionMessage(
                        submissionId: id, app: app, account: account, kind: .signedTransaction,
                        proof: sold.signedTransaction, attempt: 0, correlationId: "req_\(id)"),
                    partitionKey: sold.originalTransactionId)
            ], lease: .zero)
    }

    /// Registers a token of an account.
    func token(of account: String) async throws -> UUID {
        let token = UUID()
        _ = try await pool.query(
            "INSERT INTO account_tokens (app, token, account) VALUES ($1, $2, $3)",
            [.text(SubmissionFixture.app), .uuid(token), .text(account)])
        return token
    }

    /// Opens an intent; its id is a token of the account, too.
    func intent(of account: String, for product: String) async throws -> UUID {
        let id = try await token(of: account)
        _ = try await pool.query(
            "INSERT INTO purchase_intents (id, app, account, product_id) VALUES ($1, $2, $3, $4)",
            [.uuid(id), .text(SubmissionFixture.app), .text(account), .text(product)])
        return id
    }

    func number(_ sql: String, _ values: [PostgresValue] = []) async throws -> Int64 {
        try await pool.query(sql, values).rows.first?.decode("n", as: Int64.self) ?? -1
    }

    // MARK: - What both say

    /// One transaction, as Apple or the books have it.
    struct Standing: Hashable, Sendable {
        let transactionId: String
        let isRevoked: Bool
    }

    /// All that Apple says of its customers, read by the client and not by the sweep.
    func apple(_ access: AppStoreAccess, customersOf sold: [Simulator.Sold]) async throws -> Set<Standing> {
        struct Payload: Decodable {
            let transactionId: String
            let revocationDate: Int64?
        }
        let client = try #require(access.apps.client(of: SubmissionFixture.app))
        var standings: Set<Standing> = []
        for sale in sold {
            for try await page in client.historyPages(of: sale.transactionId, in: .production) {
                for jws in page.signedTransactions {
                    let payload = try JSONDecoder().decode(Payload.self, from: Self.payload(of: jws))
                    standings.insert(
                        Standing(transactionId: payload.transactionId, isRevoked: payload.revocationDate != nil))
                }
            }
        }
        return standings
    }

    /// All orders.
    func orders() async throws -> Set<Standing> {
        let rows = try await pool.query("SELECT transaction_id, state FROM orders").rows
        return Set(
            try rows.map {
                Standing(
                    transactionId: try $0.decode("transaction_id"),
                    isRevoked: try $0.decode("state", as: String.self) == "revoked")
            })
    }

    private static func payload(of jws: String) throws -> Data {
        var text = jws.split(separator: ".")[1].replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        while !text.utf8.count.isMultiple(of: 4) { text.append("=") }
        return try #require(Data(base64Encoded: text))
    }
}

/// The store's side of the sweep's stories.
extension Simulator {
    /// Sells one thing with a token.
    func sell(
        _ productId: String, type: String, to account: String, token: UUID?, extra: String = ""
    ) async throws -> Sold {
        struct Sale: Decodable { let transactions: [Sold] }
        let token = token.map { ",\"appAccountToken\":\"\($0.uuidString.lowercased())\"" } ?? ""
        let sale = try await control(
            .POST, "sales",
            "{\"bundleId\":\"\(SubmissionFixture.app)\",\"productId\":\"\(productId)\",\"type\":\"\(type)\","
                + "\"account\":\"\(account)\"\(token)\(extra)}", as: Sale.self)
        return try #require(sale.transactions.first)
    }

    /// Has the app's notifications go to an address where nobody listens.
    func keepNotifications() async throws {
        try await control(
            .PUT, "apps/\(SubmissionFixture.app)",
            "{\"keepsNotifications\":true,\"notificationURLs\":{\"Production\":\"http://127.0.0.1:1/\"}}")
    }

    func setClock(_ date: Date) async throws {
        try await control(.PUT, "clock", "{\"now\":\"\(MessageCoding.text(date))\",\"speed\":1}")
    }

    func advance(_ span: String) async throws {
        try await control(.POST, "clock/advance", "{\"by\":\"\(span)\"}")
    }

    func refund(_ sold: Sold) async throws {
        try await control(.POST, "transactions/\(sold.transactionId)/refund", "{}")
    }
}
