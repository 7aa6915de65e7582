import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import Metrics
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime

/// `POST /v1/accounts/{id}/spend`: the studio's backend takes from a wallet that Countersign holds.
struct SpendRoutes: Sendable {
    let authenticator: Authenticator
    let store: SpendStore
    let body: JSONBody

    /// Spends all of the items, or nothing; repeating a request with its key spends nothing more.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func post(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let callers = try await ProvenCallers(request, context, authenticator)
        let spending = try await body.decode(SpendRequest.self, from: request)
        let caller = try await callers.caller(app: spending.app)
        let checked = try spending.checked(
            caller, account: try ReadingQuery.account(context), key: try SpendRequest.key(request.headers))
        return try Self.response(try await outcome(of: checked), checked, context)
    }

    @inline(never)
    private func outcome(of request: SpendStore.Request) async throws -> SpendStore.Outcome {
        do {
            return try await store.spend(request)
        } catch let error as PostgresError where error.isRetriable || error.code == .poolClosed {
            throw ProblemDetails.spendUnavailable
        } catch let error as PostgresError where error.sqlState == PostgresError.insufficientPrivilege {
            throw ProblemDetails.rightsMissing
        }
    }

    private static func response(
        _ outcome: SpendStore.Outcome, _ request: SpendStore.Request, _ context: IntakeContext
    ) throws -> Response {
        switch outcome {
        case .spent(let spend):
            count("spent")
            context.logger.debug("spent", metadata: .fields([.app: "\(request.customer.app)"]))
            return try ReadingAnswer.response(SpendAnswer(spend, of: request.customer, context.version))
        case .repeated(let spend):
            count("repeated")
            var response = try ReadingAnswer.response(SpendAnswer(spend, of: request.customer, context.version))
            response.headers[.idempotentReplayed] = "true"
            return response
        case .keyReused:
            count("key_reused")
            throw ProblemDetails.idempotencyKeyReused
        case .insufficient(let shortages):
            count("insufficient")
            Counter(label: "countersign_problems_total", dimensions: [("code", ProblemKind.balanceInsufficient.code)])
                .increment()
            return try BalanceInsufficient(
                shortages, detail: "Nothing is spent. The same request may be sent again when there is more."
            ).response()
        }
    }

    private static func count(_ result: String) {
        Counter(label: "countersign_spends_total", dimensions: [("result", result)]).increment()
    }
}
