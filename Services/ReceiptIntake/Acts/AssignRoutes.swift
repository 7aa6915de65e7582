import Foundation
import HTTPTypes
import Hummingbird
import Persistence
import PurchaseModel
import ServiceRuntime

/// `POST /v1/orders/{transaction_id}/assign`: a person says whose a parked order is.
///
/// Intake only writes it down; fulfillment grants the order.
struct AssignRoutes: Sendable {
    enum Limit {
        /// How long the answer waits for fulfillment.
        static let wait = Duration.seconds(3)
        /// Between looks.
        static let interval = Duration.milliseconds(200)
        /// After how many seconds to ask what became of it.
        static let retryAfterSeconds = 2
    }

    let authenticator: Authenticator
    let claims: OperatorClaimStore
    let owners: OwnershipStore
    let body: JSONBody
    let turns: ReadingTurns

    /// What is asked for: `AssignRequest` in the OpenAPI document.
    private struct Asked: Decodable {
        let app: String
        let environment: String?
        let account: String
        let reason: String?
        let isDryRun: Bool?

        enum CodingKeys: String, CodingKey {
            case app, environment, account, reason
            case isDryRun = "dry_run"
        }
    }

    /// Says whose an order is.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func post(_ request: Request, _ context: IntakeContext) async throws -> Acts.Answer {
        let callers = try await ProvenCallers(request, context, authenticator)
        let asked = try await body.decode(Asked.self, from: request)
        let caller = try await callers.caller(app: asked.app)
        let environment = try caller.environment(asked.environment)
        guard let account = Account(asked.account) else {
            throw ProblemDetails.fieldInvalid("account", "1 to 255 printable characters")
        }
        let isDryRun = asked.isDryRun ?? false
        let noted: OperatorClaimStore.Noted
        do {
            noted = try await claims.claim(
                app: caller.app, environment: environment, transactionId: try ReadingQuery.transactionId(context),
                account: account.text, actor: try callers.actor(app: caller.app),
                reason: try ActReason.of(asked.reason, isDryRun: isDryRun))
        } catch let refusal as OperatorClaimStore.Refusal {
            throw ProblemDetails.refused(refusal)
        }
        let assigned = Assigned(noted: noted, account: account, isDryRun: isDryRun)
        return Acts.Answer(response: try Self.response(assigned, try await owners.outcome(ofClaim: noted.auditId))) {
            try Self.response(assigned, try await outcome(of: noted, by: caller))
        }
    }

    /// What was written down.
    private struct Assigned: Sendable {
        let noted: OperatorClaimStore.Noted
        let account: Account
        let isDryRun: Bool
    }

    /// Looks until fulfillment has taken it up, or the time is over.
    @inline(never)
    private func outcome(
        of noted: OperatorClaimStore.Noted, by caller: Caller
    ) async throws -> OwnershipStore.ClaimOutcome? {
        let end = ContinuousClock.now + Limit.wait
        while true {
            let outcome = try await turns.takeAgain(for: caller) {
                try await owners.outcome(ofClaim: noted.auditId)
            }
            guard outcome?.isPending == true, ContinuousClock.now < end else { return outcome }
            try await Task.sleep(for: Limit.interval)
        }
    }

    private static func response(
        _ assigned: Assigned, _ outcome: OwnershipStore.ClaimOutcome?
    ) throws -> Response {
        guard let outcome else { throw ProblemDetails.notFound }
        let answer = AssignAnswer(assigned.noted, outcome, account: assigned.account, isDryRun: assigned.isDryRun)
        var response = try ReadingAnswer.response(answer)
        if answer.isPending {
            response.status = .accepted
            response.headers[.retryAfter] = "\(Limit.retryAfterSeconds)"
        }
        return response
    }
}

/// `Assignment` in the OpenAPI document; the account is named by the caller alone.
private struct AssignAnswer: Encodable, Sendable {
    let transactionId: String
    let environment: StoreEnvironment
    let isDryRun: Bool
    let auditId: String?
    let isPending: Bool
    let isAssigned: Bool?
    let state: String
    let reason: String?

    enum CodingKeys: String, CodingKey {
        case environment, state, reason
        case transactionId = "transaction_id"
        case isDryRun = "dry_run"
        case auditId = "audit_id"
        case isPending = "pending"
        case isAssigned = "assigned"
    }

    init(
        _ noted: OperatorClaimStore.Noted, _ outcome: OwnershipStore.ClaimOutcome, account: Account, isDryRun: Bool
    ) {
        transactionId = noted.key.transactionId
        environment = noted.key.environment
        self.isDryRun = isDryRun
        auditId = isDryRun ? nil : "\(noted.auditId)"
        isPending = outcome.isPending && !isDryRun
        isAssigned =
            outcome.isPending ? nil : outcome.account.map { $0.utf8.elementsEqual(account.text.utf8) } ?? false
        state = outcome.state.rawValue
        reason = outcome.reason
    }
}

extension ProblemDetails {
    static func refused(_ refusal: OperatorClaimStore.Refusal) -> ProblemDetails {
        switch refusal {
        case .orderNotFound: .notFound
        case .invalid(let field): .fieldInvalid(field, "a shorter text")
        case .orderNotParked(let state):
            orderNotAssignable("order_not_parked", "It is \(state.rawValue), and only a parked one can be assigned.")
        case .orderHasAccount(_, let reason):
            orderNotAssignable(
                "order_has_account",
                "It has an account, and is parked for another doubt: \(reason?.rawValue ?? "unknown").")
        case .alreadyClaimed:
            orderNotAssignable(
                "order_assigned_already", "It was assigned a moment ago, and fulfillment is about to take that up.")
        }
    }

    private static func orderNotAssignable(_ reason: String, _ detail: String) -> ProblemDetails {
        ProblemDetails(.orderNotAssignable, detail, extensions: ["reason": reason])
    }
}
