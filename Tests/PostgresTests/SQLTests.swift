import Foundation
import Testing

@testable import Postgres

/// The text and the values of what is interpolated; no server is needed.
@Suite("SQL that binds itself")
struct SQLTextTests {
    private enum State: String, PostgresEncodable, PostgresDecodable { case open, shut }

    /// The text of a statement, and what its values are as bytes.
    private func text(_ sql: SQL) -> String { sql.statement.text }
    private func bytes(_ sql: SQL) -> [[UInt8]?] { sql.statement.parameters.map(\.bytes) }
    private func types(_ sql: SQL) -> [UInt32] { sql.statement.parameters.map(\.type) }

    @Test("a literal has no values")
    func literal() {
        #expect(text("SELECT 1") == "SELECT 1")
        #expect(bytes("SELECT 1").isEmpty)
    }

    @Test("each value is a parameter, in the order of the text")
    func values() {
        let id = "it's; DROP TABLE orders --"
        let sql: SQL = "SELECT \(id), \(Int64(7)) FROM t WHERE a = \(true)"
        #expect(text(sql) == "SELECT $1, $2 FROM t WHERE a = $3")
        #expect(bytes(sql) == [Array(id.utf8), [0, 0, 0, 0, 0, 0, 0, 7], [1]])
        #expect(types(sql) == [PostgresType.text, PostgresType.int8, PostgresType.bool])
    }

    @Test("the text is the same whatever the values are, so that the statement stays prepared")
    func textIsStable() {
        func sql(_ id: String?, _ ids: [String]) -> SQL { "SELECT \(id), \(ids), \(id)" }
        let all = [sql(nil, []), sql("a", ["a", "a"]), sql("", ["b"])]
        #expect(Set(all.map(text)) == ["SELECT $1, $2, $3"])
        #expect(Set(all.map(types)).count == 1)
    }

    @Test("nil is NULL of its type, alone, in an array, and as a word")
    func null() {
        let sql: SQL = "\(nil as Int32?) \(nil as Date?) \(["a", nil]) \(nil as State?)"
        #expect(bytes(sql)[0] == nil && bytes(sql)[1] == nil && bytes(sql)[3] == nil)
        #expect(types(sql) == [PostgresType.int4, PostgresType.timestamptz, PostgresType.textArray, PostgresType.text])
        #expect(bytes(sql)[2] == PostgresValue.textArray(["a", nil]).bytes)
    }

    @Test("an enumeration is its raw value, alone and in arrays")
    func words() {
        let sql: SQL = "\(State.open) \([State.open, .shut]) \([State.shut, nil])"
        #expect(bytes(sql)[0] == Array("open".utf8))
        #expect(bytes(sql)[1] == PostgresValue.textArray(["open", "shut"]).bytes)
        #expect(bytes(sql)[2] == PostgresValue.textArray(["shut", nil]).bytes)
        #expect(types(sql) == [PostgresType.text, PostgresType.textArray, PostgresType.textArray])
    }

    @Test("bytes are bytea and no array of numbers, and JSON is jsonb")
    func bytesAndJSON() {
        let sql: SQL = "\([1, 2] as [UInt8]) \([[1], []] as [[UInt8]]) \(json: "{}") \(json: ["{}", nil])"
        #expect(
            types(sql) == [
                PostgresType.bytea, PostgresType.byteaArray, PostgresType.jsonb, PostgresType.jsonbArray,
            ])
        #expect(bytes(sql)[0] == [1, 2])
        #expect(bytes(sql)[2] == [1] + Array("{}".utf8))
    }

    @Test("a part brings its values, which are counted anew")
    func parts() {
        let isOpen: SQL = "state = \(State.open)"
        let lock: SQL = "FOR UPDATE"
        let sql: SQL = "SELECT \(1) WHERE \(isOpen) AND NOT (\(isOpen)) LIMIT \(2) \(lock)"
        #expect(text(sql) == "SELECT $1 WHERE state = $2 AND NOT (state = $3) LIMIT $4 FOR UPDATE")
        #expect(bytes(sql)[1] == bytes(sql)[2])
        #expect(text("\(isOpen)") == "state = $1")
        #expect("\(lock)" == "FOR UPDATE")
    }

    @Test("a value is as many parameters as places; one that is bound once is one, in parts, too")
    func once() {
        #expect(text("\("a") \("a")") == "$1 $2")
        let ids = SQL.once(["a", "b"])
        let others = SQL.once(["a", "b"])
        let part: SQL = "x = ANY(\(ids))"
        let sql: SQL = "SELECT \(1), unnest(\(ids)) WHERE \(part) AND y = ANY(\(others)) OR \(part)"
        #expect(text(sql) == "SELECT $1, unnest($2) WHERE x = ANY($2) AND y = ANY($3) OR x = ANY($2)")
        #expect(bytes(sql).count == 3)
        let name = SQL.once("a")
        #expect(text("\(name) \(name)") == "$1 $1")
        let nobody = SQL.once(nil as String?)
        #expect(text("\(nobody) \(nobody)") == "$1 $1" && bytes("\(nobody)") == [nil])
    }

    @Test("parts are joined, with their values")
    func joined() {
        let conditions: [SQL] = ["a = \(1)", "b", "c = \(2)"]
        #expect(text("WHERE \(conditions.joined(separator: " AND "))") == "WHERE a = $1 AND b AND c = $2")
        #expect(text([].joined(separator: ", ")) == "")
    }

    @Test("only what says so is pasted in")
    func unescaped() {
        #expect(
            text("SELECT * FROM \(unescaped: "orders") WHERE a = \("orders")") == "SELECT * FROM orders WHERE a = $1")
    }
}

@Suite("SQL that binds itself, on a server", .enabled(if: TestServer.isConfigured, TestServer.missing))
struct SQLTests {
    private enum State: String, PostgresEncodable, PostgresDecodable { case open, shut }

    private struct Line: Equatable {
        let id: Int64
        let state: State
        let lockedBy: String?
    }

    @Test("values go there and come back, without casts")
    func roundTrip() async throws {
        let date = Date(timeIntervalSince1970: 1_763_000_000.5)
        let id = UUID()
        try await TestServer.withConnection { connection in
            let row = try await connection.query(
                """
                SELECT \("Zoë"), \(Int64.min), \(7), \(Int32(-1)), \(true), \(date), \(id), \([1, 2] as [UInt8]), \(State.shut),
                    \(nil as String?), \(json: "{\"a\": 1}")
                """
            ).rows[0]
            let back = try row.decode(
                (String, Int64, Int, Int32, Bool, Date, UUID, [UInt8], State, String?, String).self)
            #expect(back.0 == "Zoë" && back.1 == .min && back.2 == 7 && back.3 == -1 && back.4)
            #expect(back.5 == date && back.6 == id && back.7 == [1, 2] && back.8 == .shut && back.9 == nil)
            #expect(back.10 == #"{"a": 1}"#)
        }
    }

    @Test("arrays of every type go there and come back, without casts")
    func arrays() async throws {
        let date = Date(timeIntervalSince1970: 1_763_000_000)
        let id = UUID()
        try await TestServer.withConnection { connection in
            let row = try await connection.query(
                """
                SELECT \(["a", nil]), \([Int64(1), 2]), \([3, 4]), \([Int32(5), nil]), \([true]), \([date]), \([id]),
                    \([[1], []] as [[UInt8]]), \([State.open, .shut]), \([] as [String])
                """
            ).rows[0]
            let back = try row.decode(
                ([String?], [Int64], [Int], [Int32?], [Bool], [Date], [UUID], [[UInt8]], [String], [String]).self)
            #expect(back.0 == ["a", nil] && back.1 == [1, 2] && back.2 == [3, 4] && back.3 == [5, nil])
            #expect(back.4 == [true] && back.5 == [date] && back.6 == [id] && back.7 == [[1], []])
            #expect(back.8 == ["open", "shut"] && back.9.isEmpty)
        }
    }

    @Test(
        "a duration is an interval",
        arguments: [Duration.zero, .milliseconds(1_500), .seconds(-86_400), .microseconds(7)])
    func durations(duration: Duration) async throws {
        try await TestServer.withConnection { connection in
            let start = Date(timeIntervalSince1970: 1_763_000_000)
            let end = try await connection.query("SELECT \(start) + \(duration)").rows[0].decode(Date.self)
            #expect(abs(end.timeIntervalSince(start) - duration / .seconds(1)) < 0.000_000_6)
            let sum = try await connection.query(
                "SELECT sum(d) = \(duration) * 2 FROM unnest(\([duration, duration])) d")
            #expect(try sum.rows[0].decode(Bool.self))
        }
    }

    @Test("a duration that no interval can hold is refused by the server")
    func endlessDuration() async throws {
        try await TestServer.withConnection { connection in
            for duration in [Duration.seconds(Int64.max), .seconds(Int64.min)] {
                let error = try await TestServer.failure {
                    _ = try await connection.query("SELECT now() + \(duration)")
                }
                #expect(error.sqlState == "22008")
            }
        }
    }

    @Test("a statement is prepared once, however its values change")
    func preparedOnce() async throws {
        try await TestServer.withConnection { connection in
            for id in 1...3 {
                let ids = SQL.once([id])
                let found = try await connection.query("SELECT \(id) = ANY(\(ids)) AND \(ids) = \([id])")
                #expect(try found.rows[0].decode(Bool.self))
            }
            let prepared = try await connection.query(
                "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT $1 = ANY%'")
            #expect(try prepared.rows[0].decode(Int.self) == 1)
        }
    }

    @Test("rows become values of a type, by a closure or an initializer")
    func rowsOfAType() async throws {
        try await TestServer.withConnection { connection in
            let result = try await connection.query(
                """
                SELECT id, state, locked_by FROM unnest(\([1, 2]), \([State.open, .shut]), \(["me", nil]))
                    AS lines (id, state, locked_by) ORDER BY id
                """)
            let lines = [Line(id: 1, state: .open, lockedBy: "me"), Line(id: 2, state: .shut, lockedBy: nil)]
            #expect(try result.map(Line.init) == lines)
            let ids = try result.map { (id: Int64, _: State, _: String?) in id }
            #expect(ids == [1, 2])
            #expect(try await connection.query("SELECT 'a' WHERE false").map { (text: String) in text }.isEmpty)
        }
    }

    @Test("a value that is missing, unknown, of another type, or too many is an error that names the column")
    func misfits() async throws {
        try await TestServer.withConnection { connection in
            let row = try await connection.query("SELECT 'lost' AS state, NULL::text AS owner").rows[0]
            func reason(_ body: () throws -> Void) throws -> String {
                do {
                    try body()
                } catch let error as PostgresError {
                    #expect(error.code == .decodingFailed)
                    return error.description
                }
                Issue.record("nothing was thrown")
                return ""
            }
            #expect(try reason { _ = try row.decode((State, String?).self) }.contains("state"))
            #expect(try reason { _ = try row.decode((String, String).self) }.contains("owner"))
            #expect(try reason { _ = try row.decode((Int64, String?).self) }.contains("state"))
            #expect(try reason { _ = try row.decode(String.self) }.contains("2 columns"))
            #expect(try reason { _ = try row.decode((String, String?, String?).self) }.contains("2 columns"))
            let (state, owner) = try row.decode((String, String?).self)
            #expect(state == "lost" && owner == nil)
        }
    }

    @Test("what breaks the server's rules is the server's error")
    func serverErrors() async throws {
        try await TestServer.withPool { pool in
            let error = try await TestServer.failure { _ = try await pool.query("SELECT 1 / \(0)") }
            #expect(error.sqlState == "22012")
            #expect(try await pool.query("SELECT \(1) + 1").rows[0].decode(Int.self) == 2)
        }
    }
}
