import Foundation
import Testing

@testable import Postgres

@Suite("Decoding what does not fit", .enabled(if: TestServer.isConfigured, TestServer.missing))
struct DecodingTests {
    private func row(_ columns: String) async throws -> PostgresRow {
        try await TestServer.withConnection { try await $0.query("SELECT \(unescaped: columns)").rows[0] }
    }

    private func refuses<T: PostgresDecodable>(_ row: PostgresRow, _ column: String, _ type: T.Type) {
        do {
            _ = try row.decode(column, as: type)
            Issue.record("\(column) was decoded as \(type)")
        } catch {
            #expect(error.code == .decodingFailed)
            #expect(error.description.contains(column))
            #expect(!error.isRetriable)
        }
    }

    @Test("a wrong type is an error for every pair that does not fit")
    func wrongTypes() async throws {
        let row = try await row(
            """
            'x'::text AS text, 1::int8 AS int8, true AS bool, now() AS time, gen_random_uuid() AS uuid,
            '\\x01'::bytea AS bytea, 1.5::float8 AS double, array['a'] AS texts, array[1::int8] AS ints
            """)
        for column in row.columnNames {
            if column != "int8" {
                refuses(row, column, Int64.self)
                refuses(row, column, Int.self)
            }
            refuses(row, column, Int32.self)
            if column != "bool" { refuses(row, column, Bool.self) }
            if column != "time" { refuses(row, column, Date.self) }
            if column != "uuid" { refuses(row, column, UUID.self) }
            if column != "bytea" { refuses(row, column, [UInt8].self) }
            if column != "double" { refuses(row, column, Double.self) }
            if column != "text" && column != "uuid" { refuses(row, column, String.self) }
            if column != "texts" { refuses(row, column, [String].self) }
            if column != "ints" { refuses(row, column, [Int64].self) }
        }
    }

    @Test("NULL is an error for decode and nil for decodeIfPresent")
    func null() async throws {
        let row = try await row("NULL::text AS a, NULL::int8 AS b, 1::int4 AS c, NULL::int8[] AS d")
        refuses(row, "a", String.self)
        refuses(row, "b", Int64.self)
        refuses(row, "d", [Int64].self)
        #expect(try row.decodeIfPresent("a", as: String.self) == nil)
        #expect(try row.decodeIfPresent("b", as: Int64.self) == nil)
        #expect(try row.decode("c", as: Int32.self) == 1)
    }

    @Test("a column that is absent is an error, also for decodeIfPresent")
    func absentColumn() async throws {
        let row = try await row("1 AS a, 2 AS a")
        refuses(row, "b", Int32.self)
        #expect(throws: PostgresError.self) { try row.decodeIfPresent("b", as: Int32.self) }
        #expect(try row.decode("a", as: Int32.self) == 1)
    }

    @Test("arrays with NULLs, of two dimensions, or of other types are refused")
    func arrays() async throws {
        let row = try await row(
            "array[1, NULL]::int8[] AS holes, array[[1,2],[3,4]]::int8[] AS square, array[point(1,2)] AS points")
        refuses(row, "holes", [Int64].self)
        refuses(row, "square", [Int64].self)
        refuses(row, "points", [String].self)
        #expect(try row.decode("holes", as: [Int64?].self) == [1, nil])
    }

    @Test("malformed bytes are refused, not read past")
    func malformed() {
        for count in 0..<28 {
            for fill in [UInt8(1), 0x7f, 0xff] {
                var bytes = [UInt8](repeating: fill, count: count)
                if count >= 12 { bytes.replaceSubrange(0..<12, with: [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20]) }
                let array = PostgresCell(column: "c", type: 1016, bytes: bytes[...])
                #expect(throws: PostgresError.self) { try [Int64].decode(array) }
                let numeric = PostgresCell(column: "c", type: 1700, bytes: bytes[...])
                if count % 2 == 1 { #expect(throws: PostgresError.self) { try Int64.decode(numeric) } }
            }
        }
        #expect(throws: PostgresError.self) {
            try String.decode(PostgresCell(column: "c", type: 25, bytes: [0xff, 0xfe][...]))
        }
        #expect(throws: PostgresError.self) { try String.decode(PostgresCell(column: "c", type: 3802, bytes: [])) }
        #expect(throws: PostgresError.self) { try UUID.decode(PostgresCell(column: "c", type: 2950, bytes: [1])) }
    }
}
