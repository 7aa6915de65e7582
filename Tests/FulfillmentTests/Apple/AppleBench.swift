import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

@testable import Fulfillment

/// What Apple tells and is told, on a bench.
extension Bench {
    /// The app with lines of the apps file.
    static func apps(_ lines: String...) throws -> CurrentApps {
        let file = FileManager.default.temporaryDirectory.appending(path: "apps-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        let text = "apps:\n  - bundle_id: \(app)\n" + lines.map { "    \($0)\n" }.joined()
        try Data(text.utf8).write(to: file)
        return CurrentApps(try AppsFile.load(path: file.path, secrets: []))
    }

    /// Takes a notification in and returns the verdict that a worker sends.
    func appleNotification(
        _ type: String, _ transactions: [Transaction] = [], uuid: UUID = UUID(), subtype: String? = nil,
        signedDate: Date = Date(), reason: String? = nil
    ) async throws -> VerdictMessage {
        let id = "sub_\(uuid.uuidString.lowercased())"
        let message = SubmissionMessage(
            submissionId: id, app: Self.app, account: "", kind: .serverNotification, proof: "a.\(uuid).c", attempt: 0,
            correlationId: "req_\(id)")
        _ = try await SubmissionStore(pool: pool).accept(
            [SubmissionStore.NewSubmission(message: message, partitionKey: id)], lease: .seconds(30))
        return VerdictMessage(
            submissionId: id, app: Self.app, account: "", correlationId: "req_\(id)", attempt: 0,
            verdict: .genuine(transactions), claims: [],
            notification: .init(
                type: type, subtype: subtype, uuid: uuid.uuidString.lowercased(), environment: .production,
                signedDate: signedDate, consumptionRequestReason: reason))
    }

    /// Decides about refund requests that are due.
    func answerRefundRequests() async throws {
        let store = CatalogueStore(pool: pool)
        let loaded = CatalogueFile.Loaded(catalogue: products, text: "\(products.knownProducts)")
        let catalogues = CurrentCatalogue(loaded) { try await store.version(of: $0) }
        _ = try await AnswerRefundRequests(pool: pool, catalogues: catalogues).look()
    }

    /// Calls in lines: kind, state, transaction, and what is said.
    func calls() async throws -> [String] {
        let result = try await pool.query(
            """
            SELECT concat_ws(' ', kind, state, transaction_id, outcome, answer::text) AS line FROM apple_calls ORDER BY id
            """)
        return try result.rows.map { try $0.decode("line", as: String.self) }
    }

    /// An order's purchase, granted to `player`.
    func buy(_ id: String, product: String = "gems.100", token: UUID? = nil) async throws {
        try await settle([
            try await verdict("buy-\(id)", .genuine([Self.signed(id, product: product, token: token)]))
        ])
    }
}
