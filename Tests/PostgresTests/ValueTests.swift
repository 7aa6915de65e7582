import Foundation
import Postgres
import Testing

@Suite("Values", .enabled(if: TestServer.isConfigured, TestServer.missing))
struct ValueTests {
    private static let uuid = UUID()
    private static let date = Date(timeIntervalSince1970: 1_763_000_000.123457)

    /// Sends a value and gets it back.
    private func echo<T: PostgresDecodable>(_ value: PostgresValue, _ type: String, as: T.Type) async throws -> T? {
        try await TestServer.withConnection { connection in
            try await connection.query("SELECT $1::\(type) AS v", [value]).rows[0].decodeIfPresent("v", as: T.self)
        }
    }

    @Test(
        "text comes back as it was",
        arguments: [
            "", "plain", "Ünïcödé 🧾 日本語 \u{1F468}\u{200D}\u{1F469}", "quote ' \" \\ $1 ; --", "line\nfeed\ttab",
            String(repeating: "長", count: 100_000), "e\u{301}",
        ])
    func text(value: String) async throws {
        let back = try await echo(.text(value), "text", as: String.self)
        #expect(back.map { Array($0.utf8) } == Array(value.utf8))
    }

    @Test("integers and truth come back at their limits")
    func numbers() async throws {
        for value in [Int64.min, -1, 0, 1, .max] {
            #expect(try await echo(.int8(value), "int8", as: Int64.self) == value)
            #expect(try await echo(.int8(value), "int8", as: Int.self) == Int(value))
            #expect(try await echo(.int8(value), "numeric", as: Int64.self) == value)
        }
        for value in [Int32.min, -1, 0, .max] {
            #expect(try await echo(.int4(value), "int4", as: Int32.self) == value)
            #expect(try await echo(.int4(value), "int4", as: Int64.self) == Int64(value))
        }
        #expect(try await echo(.int4(-7), "int2", as: Int.self) == -7)
        #expect(try await echo(.int4(3), "float8", as: Double.self) == 3)
        #expect(try await echo(.bool(true), "bool", as: Bool.self) == true)
        #expect(try await echo(.bool(false), "bool", as: Bool.self) == false)
    }

    @Test("a whole numeric is an integer, another is refused")
    func numerics() async throws {
        try await TestServer.withConnection { connection in
            for (text, wanted) in [("0", 0), ("10000", 10_000), ("-120000000", -120_000_000), ("12345678", 12_345_678)]
            {
                let row = try await connection.query("SELECT sum(x) AS v FROM (VALUES (\(unescaped: text)::int8)) t(x)")
                    .rows[0]
                #expect(try row.decode("v", as: Int.self) == wanted)
            }
            for text in ["0.5", "'NaN'", "'Infinity'", "9223372036854775808", "1e30"] {
                let row = try await connection.query("SELECT \(unescaped: text)::numeric AS v").rows[0]
                #expect(throws: PostgresError.self) { try row.decode("v", as: Int64.self) }
            }
        }
    }

    @Test("times keep their microseconds")
    func dates() async throws {
        for seconds in [0, 1_763_000_000.123457, -1.000001, 946_684_800, 4_102_444_800.999999, -11_676_096_000] {
            let date = Date(timeIntervalSince1970: seconds)
            let back = try #require(try await echo(.timestamptz(date), "timestamptz", as: Date.self))
            #expect(abs(back.timeIntervalSince(date)) < 0.000_000_6)
            let again = try #require(try await echo(.timestamptz(back), "timestamptz", as: Date.self))
            #expect(again == back)
        }
        try await TestServer.withConnection { connection in
            let text = try await connection.query(
                "SELECT to_char($1::timestamptz, 'YYYY-MM-DD HH24:MI:SS.US') AS v", [.timestamptz(Self.date)])
            #expect(try text.rows[0].decode("v", as: String.self) == "2025-11-13 02:13:20.123457")
        }
    }

    @Test("a date that is out of range is refused, and infinity is not a date")
    func extremeDates() async throws {
        for date in [
            Date(timeIntervalSince1970: .infinity), Date(timeIntervalSince1970: .nan),
            .init(timeIntervalSince1970: 1e300),
        ] {
            let error = try await TestServer.failure {
                _ = try await echo(.timestamptz(date), "timestamptz", as: Date.self)
            }
            #expect(error.sqlState == "22008")
        }
        #expect(try await echo(.timestamptz(.distantFuture), "timestamptz", as: Date.self) == .distantFuture)
        let error = try await TestServer.failure {
            _ = try await echo(.text("infinity"), "text::timestamptz", as: Date.self)
        }
        #expect(error.code == .decodingFailed)
    }

    @Test("uuid, jsonb and bytea come back")
    func others() async throws {
        #expect(try await echo(.uuid(Self.uuid), "uuid", as: UUID.self) == Self.uuid)
        #expect(try await echo(.uuid(Self.uuid), "uuid", as: String.self) == Self.uuid.uuidString.lowercased())
        #expect(
            try await echo(.jsonb(#"{"a": [1, null, "é"]}"#), "jsonb", as: String.self) == #"{"a": [1, null, "é"]}"#)
        #expect(try await echo(.bytea([]), "bytea", as: [UInt8].self) == [])
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(try await echo(.bytea(bytes), "bytea", as: [UInt8].self) == bytes)
    }

    @Test("nil is NULL of every type")
    func nulls() async throws {
        #expect(try await echo(.text(nil), "text", as: String.self) == nil)
        #expect(try await echo(.int8(nil), "int8", as: Int64.self) == nil)
        #expect(try await echo(.int4(nil), "int4", as: Int32.self) == nil)
        #expect(try await echo(.bool(nil), "bool", as: Bool.self) == nil)
        #expect(try await echo(.timestamptz(nil), "timestamptz", as: Date.self) == nil)
        #expect(try await echo(.uuid(nil), "uuid", as: UUID.self) == nil)
        #expect(try await echo(.jsonb(nil), "jsonb", as: String.self) == nil)
        #expect(try await echo(.bytea(nil), "bytea", as: [UInt8].self) == nil)
    }

    @Test("arrays come back with their nils, and when empty")
    func arrays() async throws {
        let texts: [String?] = ["a", nil, "", "ü🧾", "{,\"NULL\"}"]
        #expect(try await echo(.textArray(texts), "text[]", as: [String?].self) == texts)
        #expect(try await echo(.int8Array([.min, nil, .max]), "int8[]", as: [Int64?].self) == [.min, nil, .max])
        #expect(try await echo(.int4Array([nil, -1]), "int4[]", as: [Int32?].self) == [nil, -1])
        #expect(try await echo(.boolArray([true, nil, false]), "bool[]", as: [Bool?].self) == [true, nil, false])
        #expect(try await echo(.uuidArray([Self.uuid, nil]), "uuid[]", as: [UUID?].self) == [Self.uuid, nil])
        #expect(try await echo(.jsonbArray(["{}", nil]), "jsonb[]", as: [String?].self) == ["{}", nil])
        #expect(
            try await echo(.byteaArray([[0, 255], nil, []]), "bytea[]", as: [[UInt8]?].self) == [[0, 255], nil, []])
        let dates = try #require(
            try await echo(.timestamptzArray([Self.date, nil]), "timestamptz[]", as: [Date?].self))
        #expect(dates.count == 2 && dates[1] == nil)
        #expect(abs(try #require(dates[0]).timeIntervalSince(Self.date)) < 0.000_000_6)
        #expect(try await echo(.textArray(["x", "y"]), "text[]", as: [String].self) == ["x", "y"])
        #expect(try await echo(.int8Array([1, 2]), "int8[]", as: [Int64].self) == [1, 2])
        #expect(try await echo(.textArray([]), "text[]", as: [String].self) == [])
        #expect(try await echo(.int8Array([]), "int8[]", as: [Int64].self) == [])
        #expect(try await echo(.byteaArray([]), "bytea[]", as: [[UInt8]].self) == [])
    }

    @Test("five hundred rows go in by one statement of all array types")
    func unnest() async throws {
        try await TestServer.withConnection { connection in
            try await connection.executeScript(
                """
                CREATE TEMP TABLE wide (a text, b int8, c int4, d bool, e timestamptz, f uuid, g jsonb, h bytea);
                """)
            let indices = 0..<500
            let odd = { (index: Int) in index % 7 == 3 }
            let result = try await connection.query(
                """
                INSERT INTO wide SELECT * FROM unnest($1::text[], $2::int8[], $3::int4[], $4::bool[],
                    $5::timestamptz[], $6::uuid[], $7::jsonb[], $8::bytea[])
                """,
                [
                    .textArray(indices.map { odd($0) ? nil : "text \($0)" }),
                    .int8Array(indices.map { odd($0) ? nil : Int64($0) << 40 }),
                    .int4Array(indices.map { odd($0) ? nil : Int32($0) }),
                    .boolArray(indices.map { odd($0) ? nil : $0 % 2 == 0 }),
                    .timestamptzArray(indices.map { odd($0) ? nil : Date(timeIntervalSince1970: Double($0)) }),
                    .uuidArray(indices.map { odd($0) ? nil : Self.uuid }),
                    .jsonbArray(indices.map { odd($0) ? nil : "{\"n\": \($0)}" }),
                    .byteaArray(indices.map { odd($0) ? nil : [UInt8](repeating: 7, count: $0) }),
                ])
            #expect(result.affectedRows == 500)
            let rows = try await connection.query("SELECT * FROM wide ORDER BY coalesce(b, 0), b NULLS LAST").rows
            #expect(rows.count == 500)
            #expect(rows[0].columnNames == ["a", "b", "c", "d", "e", "f", "g", "h"])
            var nulls = 0
            for row in rows {
                guard let number: Int32 = try row.decodeIfPresent("c") else {
                    nulls += 1
                    for name in row.columnNames where name != "c" {
                        #expect(try row.decodeIfPresent(name, as: String.self) == nil)
                    }
                    continue
                }
                #expect(try row.decode("a") == "text \(number)")
                #expect(try row.decode("b") == Int64(number) << 40)
                #expect(try row.decode("d") == (number % 2 == 0))
                #expect(try row.decode("e") == Date(timeIntervalSince1970: Double(number)))
                #expect(try row.decode("f") == Self.uuid)
                #expect(try row.decode("g") == "{\"n\": \(number)}")
                #expect(try row.decode("h", as: [UInt8].self).count == Int(number))
            }
            #expect(nulls == indices.filter(odd).count)
        }
    }
}
