import Postgres

/// An index that a migration makes or drops while services run: `CONCURRENTLY`, which no transaction may hold.
///
/// A plain `CREATE INDEX` would keep everybody from writing for as long as it reads the table: minutes without purchases.
/// Each change may have been made before: a migration that was ended goes on where it ended.
package struct IndexChange: Sendable, Hashable {
    /// The index.
    package let name: String
    /// The table and what follows it in `CREATE INDEX name ON`; nil where the index is dropped.
    package let definition: String?

    /// An index to make.
    static func make(_ name: String, on definition: String) -> IndexChange {
        IndexChange(name: name, definition: definition)
    }

    /// An index to drop.
    static func drop(_ name: String) -> IndexChange {
        IndexChange(name: name, definition: nil)
    }

    /// Makes the changes one after the other, each for as long as it takes: an index waits for the transactions that were
    /// there before it.
    ///
    /// - Parameter connection: in no transaction.
    /// - Throws: `PostgresError`; what was done before stays, and is passed over by the next call.
    static func apply(_ changes: [IndexChange], on connection: PostgresConnection) async throws {
        let usual = try await connection.query(
            "SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock")
        try await connection.executeScript("SET statement_timeout = 0; SET lock_timeout = 0")
        let outcome: Result<Void, any Error>
        do {
            for change in changes { try await change.apply(on: connection) }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        if let row = usual.rows.first {
            _ = try await connection.query(
                "SELECT set_config('statement_timeout', $1, false), set_config('lock_timeout', $2, false)",
                [.text(try row.decode("statement")), .text(try row.decode("lock"))])
        }
        try outcome.get()
    }

    private func apply(on connection: PostgresConnection) async throws {
        let found = try await connection.query(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)", [.text(name)])
        let isValid = try found.rows.first?.decode("indisvalid", as: Bool.self)
        // One whose making was ended is in the way, and is written to by every purchase, but answers nothing.
        if isValid == false || definition == nil && isValid != nil {
            try await connection.executeScript("DROP INDEX CONCURRENTLY IF EXISTS \(name)")
        }
        guard let definition, isValid != true else { return }
        try await connection.executeScript("CREATE INDEX CONCURRENTLY \(name) ON \(definition)")
    }
}

extension IndexChange {
    /// Of migration 15: what is looked at again and again is found in the order in which it is looked for.
    static let readFewRows: [IndexChange] = [
        .make(
            "submissions_unalarmed",
            on: "submissions ((coalesce(reopened_at, received_at))) WHERE due_at IS NOT NULL AND alarmed_at IS NULL"),
        .make(
            "submissions_alarmed",
            on: """
                submissions ((coalesce(reason, 'no_verdict')), (coalesce(reopened_at, received_at)))
                    WHERE due_at IS NOT NULL AND alarmed_at IS NOT NULL
                """),
        .make(
            "orders_nobodys_by_token",
            on: """
                orders (app, app_account_token, environment, transaction_id)
                    WHERE account IS NULL AND app_account_token IS NOT NULL
                        AND (state = 'revoked' OR state = 'parked' AND reason = 'account_token_unknown')
                """),
        .make(
            "orders_in_doubt_by_reason",
            on: """
                orders (app, product_id, reason, environment, transaction_id) WHERE state = 'parked' AND reason IN
                    ('product_unknown', 'account_token_unknown', 'product_type_mismatch', 'amount_too_large')
                """),
        // The two before find what they found, for a fulfillment of the version before, too.
        .drop("orders_in_doubt"), .drop("orders_nobodys_refunds"),
    ]

    /// Of migration 16: of webhooks that were given up, those alone are looked for, among all that were ever delivered.
    static let holdDeliveries: [IndexChange] = [
        .make(
            "webhook_deliveries_abandoned",
            on: "webhook_deliveries (event_id, endpoint_id) WHERE state = 'abandoned'")
    ]

    /// Of migration 17: what an account posted, and which tokens it has.
    static let forgetAccounts: [IndexChange] = [
        .make("submissions_account", on: "submissions (account, app) WHERE account <> ''"),
        .make("account_tokens_account", on: "account_tokens (account, app)"),
    ]

    /// Of migration 18: what retention looks for.
    ///
    /// A purchase has no entry in any of them.
    static let divideByMonth: [IndexChange] = [
        .make(
            "submissions_inline_proofs",
            on: """
                submissions (received_at) WHERE proof IS DISTINCT FROM ''
                    AND kind NOT IN ('transaction_id', 'order_id') AND (proof IS NOT NULL OR proof_rest IS NOT NULL)
                """),
        .make(
            "submissions_notifications",
            on: "submissions (settled_at) WHERE account = '' AND state IN ('fulfilled', 'rejected')"),
    ]

    /// Of migration 22: who posted a number; a signed transaction has no entry in it.
    static let findNumbers: [IndexChange] = [
        .make(
            "submissions_by_number",
            on: """
                submissions ((coalesce(named_transaction_id, partition_key)))
                    WHERE named_transaction_id IS NOT NULL OR kind IN ('transaction_id', 'order_id')
                """)
    ]
}

extension IndexChange {
    /// Of migration 19: what the sweep plans for.
    ///
    /// Intents are looked for by when they were opened, in the order of the table.
    static let sweepHistory: [IndexChange] = [
        .make("purchase_intents_opened", on: "purchase_intents USING brin (created_at)"),
        .make("subscriptions_expiring", on: "subscriptions (expires_date)"),
    ]
}

extension IndexChange {
    /// Of migration 26: which refund requests are open, and which calls to Apple, and which questions that are asked once, retention removes.
    static let askForSweeps: [IndexChange] = [
        .make(
            "apple_calls_requests_open", on: "apple_calls (due_at) WHERE due_at IS NOT NULL AND kind = 'consumption'"),
        .make("apple_calls_finished", on: "apple_calls (finished_at) WHERE finished_at IS NOT NULL"),
        .make("sweep_tasks_over", on: "sweep_tasks (finished_at) WHERE due_at IS NULL AND customer <> ''"),
    ]

    /// Of migration 28: what is held for a word of Apple's is in doubt, too.
    static let keepUnknownValues: [IndexChange] = [
        .make(
            "orders_in_doubt_by_cause",
            on: """
                orders (app, product_id, reason, environment, transaction_id) WHERE state = 'parked' AND reason IN
                    ('product_unknown', 'account_token_unknown', 'product_type_mismatch', 'amount_too_large',
                    'vocabulary_unknown')
                """),
        .drop("orders_in_doubt_by_reason"),
    ]
}
