import Foundation
import Messages
import Postgres
import SchemaTesting
import Testing

/// Holds what fulfillment wrote in a test against the published schema: each bench does so at its end, so that every event
/// that any test brings about is one that receivers were told of.
enum EventSchemaCheck {
    /// The most events of a database that are looked at: histories write tens of thousands.
    private static let maximum: Int64 = 3_000

    /// A schema as tests use it.
    private static let checker = Result { try SchemaChecker(json: EventSchemas.schema) }

    /// Expects that the events fit their schema, with no member that it does not name.
    ///
    /// Rows with an empty body are a test's own, which is about their table.
    ///
    /// - Throws: `PostgresError`; `SchemaChecker.BadSchema` for a mistake in the schema.
    static func expectDescribed(_ pool: PostgresPool) async throws {
        let result = try await pool.query(
            "SELECT body FROM events WHERE body <> '{}' ORDER BY id LIMIT $1", [.int8(maximum)])
        for row in result.rows {
            let body: String = try row.decode("body")
            let flaws = try checker.get().flaws(of: try JSONSerialization.jsonObject(with: Data(body.utf8)))
            #expect(flaws.isEmpty, "\(flaws) in \(body)")
        }
    }
}
