import Foundation
import Persistence
import PersistenceTesting
import Postgres
import Testing

@testable import CountersignTool

/// What a person is told whose database does not answer, or is another's.
@Suite(.enabled(if: ToolProcess.isReady, ToolProcess.missing))
struct DatabaseTroubleTests {
    private func url(_ change: (inout URLComponents) -> Void) throws -> String {
        var components = try #require(TestDatabase.url.flatMap(URLComponents.init(string:)))
        change(&components)
        return try #require(components.string)
    }

    @Test("nobody listens, and there is no such database: one sentence with what to do, no usage, exit code 1")
    func noServer() async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            let closed = try await tool.at("postgresql://x:secret@127.0.0.1:1/x?connect_timeout=2").run("undelivered")
            #expect(closed.status == 1)
            #expect(closed.errors.contains("nothing listens there: is PostgreSQL running"), "\(closed.errors)")
            #expect(!closed.errors.contains("secret") && !closed.errors.contains("USAGE"), "\(closed.errors)")
            let absent = try await tool.at(try url { $0.path = "/countersign_absent" }).run("undelivered")
            #expect(absent.status == 1)
            #expect(absent.errors.contains("there is no such database"), "\(absent.errors)")
            let name = try await tool.at("postgresql://x@host.invalid/x").run("undelivered")
            #expect(name.errors.contains("the host's name is not known"), "\(name.errors)")
            let unreadable = try await tool.at("mysql://x").run("undelivered")
            #expect(unreadable.status == 1 && !unreadable.errors.isEmpty)
        }
    }

    @Test("a schema that is older or newer than this program")
    func schema() async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            let newest = Migrator.newestVersion
            _ = try await pool.query(
                "INSERT INTO schema_migrations (version, name, compatible_from) VALUES (9000, 'expand', 1)")
            #expect(try await tool.run("undelivered").status == 0)
            let rights = try await tool.run("migrate")
            #expect(rights.status == 0 && rights.output.contains("rights were left"), "\(rights.output)")
            let plan = try await tool.run("migrate", "--dry-run", "--json")
            #expect(plan.output.contains(#""schema_version" : 9000"#), "\(plan.output)")
            _ = try await pool.query("UPDATE schema_migrations SET compatible_from = 9000 WHERE version = 9000")
            for command in [["undelivered"], ["migrate"], ["migrate", "--dry-run"]] {
                let newer = try await tool.run(command)
                #expect(newer.status == 1 && newer.errors.contains("it knows \(newest)"), "\(newer.errors)")
            }
            _ = try await pool.query("TRUNCATE schema_migrations")
            let older = try await tool.run("inspect", "1")
            #expect(older.status == 1 && older.errors.contains("run `countersign migrate`"), "\(older.errors)")
        }
    }

    @Test("each state of PostgreSQL's that has something to be done about it says so")
    func states() {
        for (state, words) in [
            ("42501", "rights of countersign_reader"), ("25006", "standby"), ("53100", "disk is full"),
            ("42P01", "migrate"), ("42703", "migrate"), ("57014", "took too long"), ("55P03", "repeat the command"),
            ("40P01", "repeat the command"),
        ] {
            let error = PostgresError(code: .statementFailed, reason: "refused", sqlState: state)
            #expect(DatabaseTrouble.sentence(error).contains(words), "\(DatabaseTrouble.sentence(error))")
        }
        let password = PostgresError(
            code: .connectionFailed, reason: "no connection",
            serverMessage: "FATAL:  password authentication failed for user \"x\"")
        #expect(
            DatabaseTrouble.sentence(password).hasPrefix("the password is wrong"),
            "\(DatabaseTrouble.sentence(password))")
    }
}
