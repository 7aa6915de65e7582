import Logging
import PersistenceTesting
import Postgres
import Testing

@testable import Persistence

/// Indexes that a migration makes beside running services.
@Suite("Indexes made while services run", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct IndexChangeTests {
    private static let change = IndexChange.make("tokens_by_account", on: "account_tokens (account)")

    private func apply(_ changes: [IndexChange], _ pool: PostgresPool) async throws {
        try await pool.withConnection { try await IndexChange.apply(changes, on: $0) }
    }

    /// `name valid definition` of an index; nil where there is none.
    private func index(_ name: String, _ pool: PostgresPool) async throws -> String? {
        let result = try await pool.query(
            """
            SELECT concat_ws(' ', indisvalid, pg_get_indexdef(indexrelid)) AS words FROM pg_index
            WHERE indexrelid = to_regclass($1)
            """, [.text(name)])
        return try result.rows.first?.decode("words")
    }

    private func register(_ account: String, on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            "INSERT INTO account_tokens (app, token, account) VALUES ($1, gen_random_uuid(), $2)",
            [.text(Bench.app), .text(account)])
    }

    @Test func `an index whose making was ended is made again, and one that is there is left alone`() async throws {
        try await TestDatabase.with { pool in
            for _ in 0..<2 { try await pool.withConnection { try await register("anna", on: $0) } }
            // What a process leaves that ends in the middle: here two rows that are not distinct end it.
            await #expect(throws: PostgresError.self) {
                try await pool.withConnection {
                    try await $0.executeScript(
                        "CREATE UNIQUE INDEX CONCURRENTLY tokens_by_account ON account_tokens (account)")
                }
            }
            #expect(try await index("tokens_by_account", pool)?.hasPrefix("f CREATE UNIQUE") == true)
            try await apply([Self.change], pool)
            let made = try await index("tokens_by_account", pool)
            #expect(made?.hasPrefix("t CREATE INDEX") == true)
            let number = "SELECT 'tokens_by_account'::regclass::oid::int8 AS n"
            let before = try await pool.query(number).rows[0].decode("n", as: Int64.self)
            try await apply([Self.change], pool)
            #expect(try await pool.query(number).rows[0].decode("n", as: Int64.self) == before)
            for _ in 0..<2 { try await apply([.drop("tokens_by_account")], pool) }
            #expect(try await index("tokens_by_account", pool) == nil)
        }
    }

    @Test func `purchases are written while an index is made, and the session's limits are as before`() async throws {
        try await TestDatabase.withAddress { pool, url in
            var configuration = try PostgresConfiguration(url: url)
            configuration.lockTimeout = .milliseconds(100)
            configuration.poolSizeMaximum = 1
            configuration.applicationName = "making"
            let making = PostgresPool(configuration: configuration, logger: Logger(label: "tests"))
            let made = try await pool.withTransaction { open in
                // The index waits for this transaction, longer than locks are waited for elsewhere.
                try await register("anna", on: open)
                let made = Task { try await apply([Self.change], making) }
                var isWaiting = false
                while !isWaiting {
                    let waits = try await pool.query(
                        """
                        SELECT count(*) AS n, pg_sleep(0.15)::text FROM pg_stat_activity
                        WHERE datname = current_database() AND application_name = 'making' AND wait_event_type = 'Lock'
                        """)
                    isWaiting = try waits.rows[0].decode("n", as: Int64.self) == 1
                }
                try await pool.withConnection { try await register("bob", on: $0) }
                #expect(try await index("tokens_by_account", pool)?.hasPrefix("f ") == true)
                return made
            }
            try await made.value
            #expect(try await index("tokens_by_account", pool)?.hasPrefix("t ") == true)
            let limit = try await making.query("SELECT current_setting('lock_timeout') AS t")
            #expect(try limit.rows[0].decode("t", as: String.self) == "100ms")
            await making.close()
        }
    }
}
