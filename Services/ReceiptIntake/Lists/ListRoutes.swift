import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Pacing
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime

/// What the studio's backends, and people by way of them, look through: lists of an app's rows, and what an id is.
///
/// Everybody here reads by turns, so that no page of a list keeps a purchase waiting.
struct ListRoutes: Sendable {
    /// What the lists are read from.
    struct Stores: Sendable {
        let identifiers: IdentifierStore
        let orders: OrderListStore
        let submissions: SubmissionListStore
        let undelivered: UndeliveredListStore
        let overview: OverviewStore
        let notifications: AppleNotificationStore
        let calls: AppleCallReading
        let catalogues: CatalogueStore
        let auditLog: AuditLogReading
        let revenue: RevenueStore
        let subscriptionFigures: SubscriptionFiguresStore
        let ledger: LedgerReading
        let tokens: AccountTokenStore
        let views: ViewStore
        let keyUses: ServerKeyUseStore
        let doctor: DoctorReportStore

        init(pool: PostgresPool) {
            identifiers = IdentifierStore(pool: pool)
            orders = OrderListStore(pool: pool)
            submissions = SubmissionListStore(pool: pool)
            undelivered = UndeliveredListStore(pool: pool)
            overview = OverviewStore(pool: pool)
            notifications = AppleNotificationStore(pool: pool)
            calls = AppleCallReading(pool: pool)
            catalogues = CatalogueStore(pool: pool)
            auditLog = AuditLogReading(pool: pool)
            revenue = RevenueStore(pool: pool)
            subscriptionFigures = SubscriptionFiguresStore(pool: pool)
            ledger = LedgerReading(pool: pool)
            tokens = AccountTokenStore(pool: pool)
            views = ViewStore(pool: pool)
            keyUses = ServerKeyUseStore(pool: pool)
            doctor = DoctorReportStore(pool: pool)
        }
    }

    enum Limit {
        /// Versions of the catalogue that are told: the newest.
        static let versions = 20
        /// Questions about money at a time: each reads every order of some days.
        static let revenueAtOnce = 1
        /// Such questions that wait; one more is put off.
        static let revenueWaiting = 10
    }

    let authenticator: Authenticator
    let stores: Stores
    let turns: ReadingTurns
    let revenueTurns = FairTurns(maximum: Limit.revenueAtOnce, waitingMaximum: Limit.revenueWaiting)

    /// The backend that asks, of the app that the query names.
    ///
    /// - Throws: `ProblemDetails`, `AuthenticationError`.
    @inline(never)
    func backend(_ request: Request, _ context: IntakeContext) async throws -> Caller {
        let caller = try await ReadingCaller.read(request, context, authenticator)
        guard caller.isServer else { throw ProblemDetails.serverKeyRequired }
        return caller
    }

    /// Tells what an id is.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func find(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        guard let text = try ListQuery.text("q", in: request) else { throw ProblemDetails.fieldMissing("q") }
        let id = text.trimmingCharacters(in: .whitespaces)
        let store = stores.identifiers
        let found = try await turns.take(for: caller) { () async throws -> [FoundAnswer] in
            let meanings = try await store.meanings(of: id, app: caller.app)
            if !meanings.isEmpty { return told(meanings, of: id, to: caller, context) }
            // People type the order id of an e-mail in small letters, too.
            let large = id.uppercased()
            guard large != id else { return [] }
            return told(try await store.meanings(of: large, app: caller.app), of: large, to: caller, context)
        }
        return try ReadingAnswer.response(ListAnswer(all: found))
    }

    /// What a caller is told that an id is; a test key only what is the sandbox's, and nothing that may be of both.
    private func told(
        _ meanings: [IdentifierStore.Meaning], of id: String, to caller: Caller, _ context: IntakeContext
    ) -> [FoundAnswer] {
        let told = meanings.filter { !caller.isTest || $0.environment == StoreEnvironment.sandbox.rawValue }
        for meaning in told {
            context.tells(
                of: meaning.account, in: meaning.environment.flatMap(StoreEnvironment.init(rawValue:)),
                order: FoundAnswer(meaning, id: id, context.version).transactionId)
        }
        return told.map { FoundAnswer($0, id: id, context.version) }
    }
}

/// Something that an id is: `Found` in the OpenAPI document.
struct FoundAnswer: Encodable, Sendable {
    let kind: IdentifierStore.Kind
    let environment: String?
    let account: String?
    private(set) var transactionId: String?
    private(set) var submissionId: String?
    private(set) var eventId: String?
    private(set) var intentId: String?
    private(set) var accountToken: String?
    private(set) var notificationId: String?
    private(set) var spendId: String?
    private(set) var forgetRequestId: String?
    private(set) var sweepId: String?

    enum CodingKeys: String, CodingKey {
        case kind, environment, account
        case transactionId = "transaction_id"
        case submissionId = "submission_id"
        case eventId = "event_id"
        case intentId = "intent_id"
        case accountToken = "account_token"
        case notificationId = "notification_id"
        case spendId = "spend_id"
        case forgetRequestId = "forget_request_id"
        case sweepId = "sweep_id"
    }

    /// - Parameter id: what was asked for.
    init(_ meaning: IdentifierStore.Meaning, id: String, _ version: APIVersion) {
        (kind, environment, account) = (meaning.kind, meaning.environment, meaning.account?.text)
        switch meaning.kind {
        case .account: break
        case .submission, .request, .postedNumber: submissionId = meaning.leadsTo
        case .event: eventId = meaning.leadsTo
        case .transaction, .originalTransaction, .webOrderLineItem: transactionId = meaning.leadsTo
        case .intent:
            transactionId = meaning.leadsTo
            intentId = IntentId.uuid(id).map(version.intentId)
        case .accountToken:
            transactionId = meaning.leadsTo
            accountToken = id.lowercased()
        case .notification:
            submissionId = meaning.leadsTo
            notificationId = id.lowercased()
        case .forgetRequest: forgetRequestId = id
        case .sweepRequest:
            transactionId = meaning.leadsTo
            sweepId = id
        case .spend: spendId = SpendId.number(id).map(version.spendId)
        }
    }
}
