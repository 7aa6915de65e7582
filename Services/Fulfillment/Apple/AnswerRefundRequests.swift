import EventProcessing
import Persistence
import Postgres
import PurchaseModel

/// The use case: says what Apple is told about refund requests.
///
/// It is made of the ledger and of the product's policy, by the catalogue of now; only with the account's consent. A worker
/// sends it.
struct AnswerRefundRequests: Sendable {
    /// Requests of one commit.
    static let requestsPerLook = 50

    let pool: PostgresPool
    let catalogues: CurrentCatalogue

    /// Decides about requests that are due.
    ///
    /// - Throws: `PostgresError`; what was not committed comes again.
    func look() async throws -> Redriver.Round {
        let catalogue = try await catalogues.current()
        let count = try await pool.withTransaction { connection in
            let asked = try await AppleCallStore.asked(limit: Self.requestsPerLook, on: connection)
            for request in asked {
                let decision = try await Self.decision(request, catalogue, on: connection)
                try await AppleCallStore.decide(request.id, decision, on: connection)
            }
            return asked.count
        }
        return Redriver.Round(count: count, limit: Self.requestsPerLook)
    }

    @inline(never)
    private static func decision(
        _ request: AppleCallStore.Asked, _ catalogue: Catalogue, on connection: PostgresConnection
    ) async throws -> AppleCallStore.Decision {
        guard !request.isOver else { return .lapse(request.hasConsent ? "too_late" : "no_consent") }
        guard request.hasConsent, let found = try await ConsumptionReading.find(request.order, on: connection) else {
            return .wait
        }
        let policy = catalogue.product(app: found.app, id: found.productId)?.refund ?? .silent
        return .answer(ConsumptionAnswer(found.facts, policy: policy, now: found.now))
    }
}
