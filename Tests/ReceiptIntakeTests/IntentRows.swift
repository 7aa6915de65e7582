import Foundation
import HTTPTypes
import HummingbirdTesting
import Postgres
import Testing

@testable import ReceiptIntake

/// What is in the tables that intents are in, as sorted lines; and orders that were bought with them.
struct IntentRows: Sendable {
    let pool: PostgresPool

    /// A player's own token.
    static func player(_ name: String = "player-1") throws -> String {
        try TestTokens.hs256(TestTokens.claims(name))
    }

    /// Each intent: id, app, account, product.
    func intents() async throws -> [String] {
        try await lines("id::text || ' ' || app || ' ' || account || ' ' || product_id", of: "purchase_intents")
    }

    /// Each token: token, app, account.
    func tokens() async throws -> [String] {
        try await lines("token::text || ' ' || app || ' ' || account", of: "account_tokens")
    }

    private func lines(_ expression: String, of table: String) async throws -> [String] {
        let result = try await pool.query("SELECT \(unescaped: expression) AS line FROM \(unescaped: table) ORDER BY 1")
        return try result.rows.map { try $0.decode("line") }
    }

    /// An order with a token, bought at a second of one hour.
    func order(
        _ id: String, token: String, state: String, at second: Int, environment: String = "production",
        app: String = TestIntake.app
    ) async throws {
        let uuid: UUID = try #require(UUID(uuidString: token))
        _ = try await pool.query(
            """
            WITH new AS (
                INSERT INTO orders (environment, transaction_id, state, reason, account, app, product_id, product_type,
                    quantity, original_transaction_id, purchase_date, signed_date, app_account_token, submission_id,
                    correlation_id, granted_at, transaction)
                VALUES ($1, $2, $3, CASE WHEN $3 <> 'granted' THEN 'product_unknown' END, 'player-1', $4, 'gems100',
                    'consumable', 1, $2, timestamptz '2026-11-21 10:00:00Z' + $5 * interval '1 second', now(), $6, 's',
                    'c', CASE WHEN $3 = 'granted' THEN now() END, '{}')
                RETURNING environment, transaction_id, submission_id
            )
            INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id)
            SELECT environment, transaction_id, transaction_id, submission_id FROM new
            """,
            [
                .text(environment), .text(id), .text(state), .text(app), .int8(Int64(second)),
                .uuid(uuid),
            ])
    }

    /// Makes an account's intents look so many seconds older.
    func age(_ account: String, by seconds: Int) async throws {
        _ = try await pool.query(
            "UPDATE purchase_intents SET created_at = created_at - $2 * interval '1 second' WHERE account = $1",
            [.text(account), .int8(Int64(seconds))])
    }
}

extension TestIntake {
    /// Opens an intent; a server names the account.
    func openIntent(
        _ product: String, as token: String, account: String? = nil, app: String = TestIntake.app,
        reference: String? = nil
    ) async throws -> Answer {
        var fields = ["app": app, "product_id": product]
        fields["reference"] = reference
        fields["account"] = account
        let body = try JSONSerialization.data(withJSONObject: fields)
        return try await send(.post, "/v1/intents", token: token, body: String(decoding: body, as: UTF8.self))
    }

    /// Asks for an intent.
    func intent(_ id: String, as token: String, app: String = TestIntake.app) async throws -> Answer {
        try await send(.get, "/v1/intents/\(id)?app=\(app)", token: token)
    }
}
