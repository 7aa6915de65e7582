import Foundation
import PersistenceTesting
import Postgres
import Testing

@testable import Persistence

/// Which programs work with which schema: decision 0038.
@Suite(.enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct SchemaCompatibilityTests {
    /// What this version has; the samples follow it.
    private static let base = Migrator.newestVersion
    /// Expand, contract, expand.
    private static let samples = [
        Migrator.Migration(
            version: base + 1, name: "expand", compatibleFrom: base, sql: "ALTER TABLE orders ADD COLUMN colour text"),
        Migrator.Migration(
            version: base + 2, name: "contract", compatibleFrom: base + 1,
            sql: "ALTER TABLE orders DROP COLUMN is_price_expected CASCADE"),
        Migrator.Migration(
            version: base + 3, name: "expand_again", compatibleFrom: base,
            sql: "ALTER TABLE orders ADD COLUMN size text"),
    ]

    /// A program that knows so many of the samples.
    private static func program(_ count: Int, _ pool: PostgresPool) -> Migrator {
        Migrator(pool: pool, migrations: Migrator.migrations + samples.prefix(count))
    }

    @Test(arguments: [
        // Of the samples: what the database has, what the oldest and the newest program know that work with it.
        (0, 0, 0), (1, 0, 1), (2, 1, 2), (3, 1, 3),
    ])
    func `a program works with a schema that is not older than it, nor contracted beyond it`(
        _ applied: Int, _ oldest: Int, _ newest: Int
    ) async throws {
        try await TestDatabase.with { pool in
            _ = try await Self.program(applied, pool).migrate()
            for known in 0...Self.samples.count {
                let program = Self.program(known, pool)
                if known < oldest {
                    await #expect(throws: SchemaError.self) { try await program.requireUsableSchema() }
                    await #expect(throws: SchemaError.self) { try await program.migrate() }
                    await #expect(throws: SchemaError.self) { try await program.plan() }
                } else if known > newest {
                    let error = await #expect(throws: SchemaError.self) { try await program.requireUsableSchema() }
                    #expect(error?.description.contains("countersign migrate") == true)
                    #expect(try await program.plan().missing == Self.samples[applied..<known].map(\.name))
                } else {
                    #expect(try await program.requireUsableSchema().version == Self.base + Int64(applied))
                }
            }
        }
    }

    @Test func `an older program leaves a newer schema as it is, where it works with it`() async throws {
        try await TestDatabase.with { pool in
            _ = try await Self.program(1, pool).migrate()
            #expect(try await Self.program(0, pool).plan().missing.isEmpty)
            #expect(try await Self.program(0, pool).migrate().isEmpty)
            #expect(try await Self.program(0, pool).state().version == Self.base + 1)
        }
    }

    @Test func `a new database says the same as one that was migrated`() async throws {
        try await TestDatabase.with { pool in
            let program = Self.program(3, pool)
            _ = try await program.migrate()
            let migrated = try await program.state()
            try await pool.withConnection {
                try await $0.executeScript("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            }
            let plan = try await program.plan()
            #expect(plan.missing == ["schema"] && plan.state == migrated)
            #expect(try await program.migrate() == ["schema"])
            #expect(try await program.state() == migrated)
        }
    }
}
