import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import SchemaTesting
import Testing

@testable import Fulfillment

/// The published examples of events are exactly what fulfillment writes today, so that a change of an event is seen in
/// review.
///
/// `COUNTERSIGN_WRITE_EXAMPLES=1` writes the file anew.
@Suite("The published examples of events", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct GoldenEventTests {
    private static let file = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Shared/Messages/Schemas/examples.json")

    @Test func `each is what is written today, and there is one of every type`() async throws {
        try await SubscriptionBench.with { bench in
            var bench = bench
            bench.bench.products = GoldenScenes.catalogue
            try await GoldenScenes(bench: bench).play()
            try await bench.bench.expectClean()
            let written = try await examples(bench.bench.pool)
            let published = try EventTypes.published
            #expect(Set(written.map(\.type)) == published)
            let text = "{\n" + written.map(\.text).joined(separator: ",\n") + "\n}\n"
            if ProcessInfo.processInfo.environment["COUNTERSIGN_WRITE_EXAMPLES"] != nil {
                try text.write(to: Self.file, atomically: true, encoding: .utf8)
            }
            // Line by line, so that a difference is told as one.
            let inFile = try String(contentsOf: Self.file, encoding: .utf8).split(separator: "\n")
            let today = text.split(separator: "\n")
            for (line, expected) in zip(today, inFile) { #expect(line == expected) }
            #expect(today.count == inFile.count, "COUNTERSIGN_WRITE_EXAMPLES=1 writes the file anew")
        }
    }

    @Test func `the file is the one that is compiled in`() throws {
        #expect(EventSchemas.examples == [UInt8](try Data(contentsOf: Self.file)))
    }

    /// The first event of each type, by type, as lines of the file.
    private func examples(_ pool: PostgresPool) async throws -> [(type: String, text: String)] {
        // Ids that are made within a millisecond are in no order; positions are in that of writing.
        while try await EventPositionStore(pool: pool).number().isMoreDue {}
        let result = try await pool.query(
            """
            SELECT DISTINCT ON (e.type COLLATE "C") e.type, e.body
            FROM events e JOIN event_positions p ON p.event_id = e.id
            ORDER BY e.type COLLATE "C", p.position
            """)
        return try result.rows.enumerated().map { number, row in
            let type: String = try row.decode("type")
            var event = try MessageCoding.decode(
                PurchaseEvent.self, from: Array(try row.decode("body", as: String.self).utf8))
            // These alone are other ones each time.
            event.id = "evt_" + String(format: "%032x", 0x019a_0000 + number)
            event.timestamp = Date(timeIntervalSince1970: 1_700_086_400)
            event.correlationId =
                event.correlationId.hasPrefix("req_sub") ? event.correlationId : "req_4d2f0c6a9b1e8375"
            return (type, "  \"\(type)\": " + Self.broken(try MessageCoding.encode(event)))
        }
    }

    /// The same JSON, each member on a line of its own.
    private static func broken(_ bytes: [UInt8]) -> String {
        var text = ""
        var indentation = 2
        var (isInString, isEscaped) = (false, false)
        var previous: Character = " "
        for character in String(decoding: bytes, as: UTF8.self) {
            func lineBreak() { text += "\n" + String(repeating: " ", count: indentation) }
            if isInString {
                text.append(character)
                if character == "\"", !isEscaped { isInString = false }
                isEscaped = character == "\\" && !isEscaped
            } else {
                switch character {
                case "{", "[":
                    if previous == "[" { lineBreak() }
                    text.append(character)
                    indentation += 2
                case "}", "]":
                    indentation -= 2
                    if previous != "{", previous != "[" { lineBreak() }
                    text.append(character)
                case ",":
                    text.append(character)
                    lineBreak()
                case ":": text += ": "
                default:
                    if previous == "{" || previous == "[" { lineBreak() }
                    text.append(character)
                    isInString = character == "\""
                }
            }
            previous = character
        }
        return text
    }
}
