import Foundation
import Testing

@testable import Postgres

@Suite("A connection", .enabled(if: TestServer.isConfigured, TestServer.missing))
struct ConnectionTests {
    @Test("counts affected rows and gives back rows")
    func countsRows() async throws {
        try await TestServer.withConnection { connection in
            try await connection.executeScript(
                "CREATE TEMP TABLE t (id int8 PRIMARY KEY); INSERT INTO t VALUES (1), (2)")
            #expect(try await connection.query("INSERT INTO t VALUES (3), (4), (5)").affectedRows == 3)
            #expect(try await connection.query("UPDATE t SET id = id + 10 WHERE id > $1", [.int8(3)]).affectedRows == 2)
            #expect(try await connection.query("SELECT * FROM t").affectedRows == 5)
            let deleted = try await connection.query("DELETE FROM t WHERE id > 10 RETURNING id")
            #expect(deleted.affectedRows == 2 && deleted.rows.count == 2)
            #expect(try await connection.query("SELECT id FROM t WHERE false").rows.isEmpty)
            #expect(try await connection.query("").rows.isEmpty)
            #expect(try await connection.query("SELECT").rows.isEmpty)
        }
    }

    @Test(
        "a refused statement leaves it usable",
        arguments: [
            ("SELEC 1", "42601"), ("SELECT * FROM no_such_table", "42P01"), ("SELECT 1/0", "22012"),
            ("SELECT 1; SELECT 2", "42601"), ("SELECT $1::text", "08P01"),
        ])
    func survivesErrors(sql: String, state: String) async throws {
        try await TestServer.withConnection { connection in
            let error = try await TestServer.failure { _ = try await connection.query(sql) }
            #expect(error.code == .statementFailed)
            #expect(error.sqlState == state)
            #expect(!error.isConnectionLoss)
            #expect(try await connection.query("SELECT 1 AS one").rows[0].decode("one", as: Int.self) == 1)
        }
    }

    @Test("a violated constraint is named")
    func namesConstraint() async throws {
        try await TestServer.withConnection { connection in
            try await connection.executeScript(
                """
                CREATE TEMP TABLE t (id text CONSTRAINT orders_transaction_unique UNIQUE);
                INSERT INTO t VALUES ('S3CRET')
                """
            )
            let error = try await TestServer.failure {
                _ = try await connection.query("INSERT INTO t VALUES ($1)", [.text("S3CRET")])
            }
            #expect(error.sqlState == "23505")
            #expect(error.constraintName == "orders_transaction_unique")
            #expect(!error.isRetriable)
            #expect(!error.description.contains("S3CRET"))
        }
    }

    @Test("an error's description never quotes a parameter")
    func keepsParametersOut() async throws {
        try await TestServer.withConnection { connection in
            let error = try await TestServer.failure {
                _ = try await connection.query("SELECT ($1::text)::int8", [.text("S3CRET")])
            }
            #expect(error.sqlState == "22P02")
            #expect(!"\(error)".contains("S3CRET"))
        }
    }

    @Test("too many parameters, or none for a placeholder, are errors")
    func refusesTooManyParameters() async throws {
        try await TestServer.withConnection { connection in
            let many = [PostgresValue](repeating: .int4(1), count: 70_000)
            let error = try await TestServer.failure { _ = try await connection.query("SELECT 1", many) }
            #expect(error.code == .statementFailed)
            #expect(try await connection.query("SELECT 1").rows.count == 1)
        }
    }

    @Test("parameters larger than all buffers go through, both ways at once")
    func large() async throws {
        try await TestServer.withConnection { connection in
            let text = String(repeating: "x", count: 40_000_000)
            let row = try await connection.query("SELECT $1::text AS t", [.text(text)]).rows[0]
            #expect(try row.decode("t", as: String.self).utf8.count == text.utf8.count)
        }
    }

    @Test("the prepared statements stay within the capacity")
    func boundsStatements() async throws {
        try await TestServer.withConnection {
            $0.statementCacheCapacity = 5
        } _: { connection in
            for round in 0..<3 {
                for number in 0..<12 {
                    let row = try await connection.query("SELECT \(number) AS n, $1::int4 AS m", [.int4(Int32(round))])
                        .rows[0]
                    #expect(try row.decode("n", as: Int.self) == number)
                    #expect(try row.decode("m", as: Int.self) == round)
                }
            }
            let count = try await connection.query("SELECT count(*) AS n FROM pg_prepared_statements").rows[0]
            #expect(try count.decode("n", as: Int.self) <= 6)
        }
    }

    @Test("without prepared statements it answers the same, and prepares nothing")
    func leavesStatementsUnprepared() async throws {
        try await TestServer.withConnection {
            $0.preparesStatements = false
        } _: { connection in
            for number in 0..<3 {
                let row = try await connection.query(
                    "SELECT $1::int8 AS n, $2::text AS t, NULL::int4 AS nothing", [.int8(Int64(number)), .text("five")]
                ).rows[0]
                #expect(try row.decode("n", as: Int64.self) == Int64(number))
                #expect(try row.decode("t", as: String.self) == "five")
                #expect(try row.decodeIfPresent("nothing", as: Int32.self) == nil)
            }
            let error = try await TestServer.failure { _ = try await connection.query("SELECT 1/0") }
            #expect(error.sqlState == "22012")
            let count = try await connection.query("SELECT count(*) AS n FROM pg_prepared_statements").rows[0]
            #expect(try count.decode("n", as: Int.self) == 0)
        }
    }

    @Test("one text with parameters of different types works")
    func preparesForOtherTypes() async throws {
        try await TestServer.withConnection { connection in
            for _ in 0..<2 {
                let number = try await connection.query("SELECT $1 AS v", [.int8(5)]).rows[0]
                #expect(try number.decode("v", as: Int64.self) == 5)
                let text = try await connection.query("SELECT $1 AS v", [.text("five")]).rows[0]
                #expect(try text.decode("v", as: String.self) == "five")
            }
        }
    }

    @Test("a schema change or DISCARD under a prepared statement goes unnoticed outside a transaction")
    func survivesSchemaChange() async throws {
        try await TestServer.withConnection { connection in
            try await connection.executeScript("CREATE TEMP TABLE t (a int8); INSERT INTO t VALUES (1)")
            #expect(try await connection.query("SELECT * FROM t").rows[0].columnNames == ["a"])
            try await connection.executeScript("ALTER TABLE t ADD b text DEFAULT 'new'")
            let row = try await connection.query("SELECT * FROM t").rows[0]
            #expect(try row.decode("b", as: String.self) == "new")
            try await connection.executeScript("ALTER TABLE t RENAME b TO c")
            #expect(try await connection.query("SELECT * FROM t").rows[0].columnNames == ["a", "c"])
            try await connection.executeScript("DEALLOCATE ALL")
            #expect(try await connection.query("SELECT * FROM t").rows.count == 1)
        }
    }

    @Test("the server has every limit, and the session's settings")
    func setsLimits() async throws {
        try await TestServer.withConnection {
            $0.statementTimeout = .milliseconds(12_345)
            $0.lockTimeout = .seconds(3)
        } _: { connection in
            let row = try await connection.query(
                """
                SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock,
                    current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('TimeZone') AS zone,
                    current_setting('application_name') AS name, current_setting('client_encoding') AS encoding
                """
            ).rows[0]
            #expect(try row.decode("statement", as: String.self) == "12345ms")
            #expect(try row.decode("lock", as: String.self) == "3s")
            #expect(try row.decode("idle", as: String.self) == "1min")
            #expect(try row.decode("zone", as: String.self) == "UTC")
            #expect(try row.decode("name", as: String.self) == "postgres-tests")
            #expect(try row.decode("encoding", as: String.self) == "UTF8")
        }
    }

    @Test("a statement that takes too long is ended by the server, and the connection lives")
    func statementTimeout() async throws {
        try await TestServer.withConnection {
            $0.statementTimeout = .milliseconds(100)
        } _: { connection in
            let error = try await TestServer.failure { _ = try await connection.query("SELECT pg_sleep(20)") }
            #expect(error.sqlState == "57014")
            #expect(error.isRetriable && !error.isConnectionLoss)
            #expect(try await connection.query("SELECT 1").rows.count == 1)
        }
    }

    @Test("a server that does not answer costs the connection, not the thread")
    func responseTimeout() async throws {
        try await TestServer.withConnection {
            $0.statementTimeout = .zero
            $0.responseTimeout = .milliseconds(200)
        } _: { connection in
            let error = try await TestServer.failure { _ = try await connection.query("SELECT pg_sleep(3)") }
            #expect(error.isConnectionLoss && error.isRetriable)
            let next = try await TestServer.failure { _ = try await connection.query("SELECT 1") }
            #expect(next.isConnectionLoss)
        }
    }

    @Test("a script stops at its first error as a whole, and COPY is refused")
    func scripts() async throws {
        try await TestServer.withConnection { connection in
            let error = try await TestServer.failure {
                try await connection.executeScript(
                    "CREATE TEMP TABLE t (a int8); SELECT 1/0; CREATE TEMP TABLE u (a int8)")
            }
            #expect(error.sqlState == "22012")
            let missing = try await TestServer.failure { _ = try await connection.query("SELECT * FROM t") }
            #expect(missing.sqlState == "42P01")
            let copy = try await TestServer.failure { try await connection.executeScript("COPY pg_class TO STDOUT") }
            #expect(copy.code == .statementFailed)
            let after = try await TestServer.failure { _ = try await connection.query("SELECT 1") }
            #expect(after.isConnectionLoss)
        }
    }

    @Test("notices are swallowed")
    func notices() async throws {
        try await TestServer.withConnection { connection in
            try await connection.executeScript("DO $$ BEGIN RAISE WARNING 'not for stderr'; END $$")
            #expect(try await connection.query("SELECT 1").rows.count == 1)
        }
    }

    @Test("calls after close are errors")
    func closed() async throws {
        let connection = try await PostgresConnection.connect(
            configuration: TestServer.configuration(), logger: TestServer.logger)
        await connection.close()
        let error = try await TestServer.failure { _ = try await connection.query("SELECT 1") }
        #expect(error.code == .poolClosed)
        await connection.close()
    }

    @Test("a function isolated to the connection makes all its calls in one hop")
    func isolated() async throws {
        func sum(_ connection: isolated PostgresConnection) throws -> Int {
            try (1...10).reduce(0) { total, number in
                total + (try connection.query("SELECT \(number) AS n").rows[0].decode("n", as: Int.self))
            }
        }
        try await TestServer.withConnection { connection in
            let total = try await sum(connection)
            #expect(total == 55)
        }
    }
}
