import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Persistence
import PurchaseModel
import ServiceRuntime

/// `POST /v1/subscriptions/{original_transaction_id}/extend` and `GET /v1/subscriptions/{original_transaction_id}/extensions`: a
/// person gives a subscriber days without payment.
///
/// Intake only writes it down; a verification worker has Apple extend the renewal date.
struct ExtensionRoutes: Sendable {
    enum Limit {
        /// How long the answer waits for a worker, which looks every two seconds, and for Apple.
        static let wait = Duration.seconds(5)
        /// Between looks.
        static let interval = Duration.milliseconds(200)
        /// After how many seconds to ask what became of it.
        static let retryAfterSeconds = 2
    }

    let authenticator: Authenticator
    let store: AppleCallStore
    let body: JSONBody
    let turns: ReadingTurns

    /// What is asked for: `ExtensionRequest` in the OpenAPI document.
    private struct Asked: Decodable {
        let app: String
        let environment: String?
        let days: Int
        let appleReason: String?
        let reason: String?
        let isDryRun: Bool

        enum CodingKeys: String, CodingKey {
            case app, environment, days, reason
            case appleReason = "apple_reason"
            case isDryRun = "dry_run"
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            app = try members.decode(String.self, forKey: .app)
            environment = try members.decodeIfPresent(String.self, forKey: .environment)
            guard members.contains(.days) else { throw ProblemDetails.fieldMissing(CodingKeys.days.rawValue) }
            do { days = try members.decode(Int.self, forKey: .days) } catch { days = 0 }
            appleReason = try members.decodeIfPresent(String.self, forKey: .appleReason)
            reason = try members.decodeIfPresent(String.self, forKey: .reason)
            isDryRun = try members.decodeIfPresent(Bool.self, forKey: .isDryRun) ?? false
        }

        /// - Throws: `ProblemDetails`.
        func checked() throws -> RenewalExtension {
            let limit = RenewalExtension.Limit.days
            guard limit.contains(days) else {
                throw ProblemDetails.fieldInvalid(
                    CodingKeys.days.rawValue, "a whole number from \(limit.lowerBound) to \(limit.upperBound)")
            }
            let words = RenewalExtension.Reason.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            guard let word = RenewalExtension.Reason(rawValue: appleReason ?? RenewalExtension.Reason.other.rawValue)
            else { throw ProblemDetails.fieldInvalid(CodingKeys.appleReason.rawValue, "one of \(words)") }
            return RenewalExtension(days: days, reason: word)
        }
    }

    /// Asks Apple for an extension.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func post(_ request: Request, _ context: IntakeContext) async throws -> Acts.Answer {
        let callers = try await ProvenCallers(request, context, authenticator)
        let asked = try await body.decode(Asked.self, from: request)
        let caller = try await callers.caller(app: asked.app)
        let environment = try caller.environment(asked.environment)
        let id = try Self.originalTransactionId(context)
        let extending = try await store.extend(
            id, in: environment, by: try asked.checked(), app: caller.app, actor: try callers.actor(app: caller.app),
            reason: try ActReason.of(asked.reason, isDryRun: asked.isDryRun))
        guard let extending else { throw ProblemDetails.notFound }
        let isDryRun = asked.isDryRun
        return Acts.Answer(response: try Self.response(extending, isDryRun: isDryRun)) {
            try Self.response(try await outcome(of: extending, by: caller), isDryRun: isDryRun)
        }
    }

    /// Tells the extensions of a subscription, the newest first.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func list(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await ReadingCaller.read(request, context, authenticator)
        let environment = try ReadingQuery.environment(request, of: caller)
        let id = try Self.originalTransactionId(context)
        let extensions = try await turns.take(for: caller) {
            try await store.extensions(of: id, in: environment, app: caller.app)
        }
        return try ReadingAnswer.response(
            ListAnswer(all: extensions.map { ExtensionAnswer($0, isDryRun: nil) }))
    }

    /// Looks until it is over, or the time is.
    @inline(never)
    private func outcome(of asked: AskedExtension, by caller: Caller) async throws -> AskedExtension {
        let end = ContinuousClock.now + Limit.wait
        var latest = asked
        while latest.isPending, ContinuousClock.now < end {
            try await Task.sleep(for: Limit.interval)
            let found = try await turns.takeAgain(for: caller) { try await store.extensionAsked(asked.id) }
            guard let found else { return latest }
            latest = found
        }
        return latest
    }

    private static func response(_ asked: AskedExtension, isDryRun: Bool) throws -> Response {
        var response = try ReadingAnswer.response(ExtensionAnswer(asked, isDryRun: isDryRun))
        if asked.isPending, !isDryRun {
            response.status = .accepted
            response.headers[.retryAfter] = "\(Limit.retryAfterSeconds)"
        }
        return response
    }

    private static func originalTransactionId(_ context: IntakeContext) throws -> String {
        guard let text = context.parameters.get("original_transaction_id"), let id = TransactionId(text) else {
            throw ProblemDetails.notFound
        }
        return id.text
    }
}

extension AskedExtension {
    fileprivate var isPending: Bool { state == .asked || state == .ready }
}

/// An extension: `Extension` in the OpenAPI document.
private struct ExtensionAnswer: Encodable, Sendable {
    let id: String?
    let environment: StoreEnvironment
    let originalTransactionId: String
    let days: Int
    let appleReason: RenewalExtension.Reason
    let requestIdentifier: String?
    let state: String
    let isPending: Bool
    let outcome: String?
    let status: Int?
    let code: Int64?
    let renewsAt: Date?
    let askedAt: Date
    let finishedAt: Date?
    let auditId: String?
    let actor: String?
    let reason: String?
    let isDryRun: Bool?

    enum CodingKeys: String, CodingKey {
        case id, environment, days, state, outcome, status, code, actor, reason
        case originalTransactionId = "original_transaction_id"
        case appleReason = "apple_reason"
        case requestIdentifier = "request_identifier"
        case isPending = "pending"
        case renewsAt = "renews_at"
        case askedAt = "asked_at"
        case finishedAt = "finished_at"
        case auditId = "audit_id"
        case isDryRun = "dry_run"
    }

    /// - Parameter isDryRun: nil in a list.
    init(_ row: AskedExtension, isDryRun: Bool?) {
        let isThere = isDryRun != true
        id = isThere ? "ext_\(row.id)" : nil
        (environment, originalTransactionId) = (row.environment, row.originalTransactionId)
        (days, appleReason) = (row.asked.days, row.asked.reason)
        requestIdentifier = isThere ? row.asked.requestIdentifier : nil
        isPending = row.isPending && isThere
        state = row.isPending ? "pending" : row.state.rawValue
        (outcome, status, code, renewsAt) = (row.outcome, row.status, row.code, row.renewsAt)
        (askedAt, finishedAt) = (row.createdAt, row.finishedAt)
        auditId = isThere ? row.auditId.map { "\($0)" } : nil
        // Who acts knows it; a remembered answer names nobody.
        (actor, reason) = isDryRun == nil ? (row.actor, row.note) : (nil, nil)
        self.isDryRun = isDryRun
    }
}
