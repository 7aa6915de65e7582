import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// Bodies of the control API: JSON, limited, refused with a sentence that names the field.
enum ControlBody {
    enum Limit {
        /// Bytes of a request's body.
        static let bytes = 65_536
    }

    @inline(never)
    static func decode<Body: Decodable>(
        _ type: Body.Type, from request: Request, maximum: Int = Limit.bytes
    ) async throws -> Body {
        try decode(type, try await bytes(of: request, maximum: maximum))
    }

    /// The whole body; an empty one is an empty object, so that a call without choices needs none.
    static func bytes(of request: Request, maximum: Int = Limit.bytes) async throws -> Data {
        try await APIBody.read(
            request, maximum: maximum, or: Problem(.contentTooLarge, "a body has at most \(maximum) bytes"))
    }

    @inline(never)
    static func decode<Body: Decodable>(_ type: Body.Type, _ data: Data) throws(Problem) -> Body {
        do {
            return try JSONDecoder().decode(Body.self, from: data.isEmpty ? Data("{}".utf8) : data)
        } catch DecodingError.keyNotFound(let key, _) {
            throw Problem(.badRequest, "\(key.stringValue): missing")
        } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context) {
            throw Problem(.badRequest, "\(context.codingPath.last?.stringValue ?? "the body"): of the wrong type")
        } catch DecodingError.dataCorrupted(let context) where !context.codingPath.isEmpty {
            throw Problem(.badRequest, "\(context.codingPath.last?.stringValue ?? "the body"): not a value it may have")
        } catch {
            throw Problem(.badRequest, "the body is not a JSON object that can be read")
        }
    }
}

/// Answers of the control API.
enum ControlAnswer {
    /// An answer with JSON that is written already.
    static func json(_ text: String, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(string: text)))
    }

    /// An answer with a value, its fields in alphabetical order.
    static func encoded(_ value: some Encodable) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return json(String(decoding: try encoder.encode(value), as: UTF8.self))
    }
}

/// An instant in a request: milliseconds since 1970, or ISO 8601 in UTC such as `2026-01-31T10:00:00Z`.
struct InstantField: Decodable, Sendable {
    let milliseconds: Int64

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int64.self) {
            milliseconds = number
        } else if let date = try? Date(try container.decode(String.self), strategy: .iso8601) {
            milliseconds = Int64(date.timeIntervalSince1970 * 1_000)
        } else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "an instant")
        }
    }
}

/// A span of time in a request: milliseconds, `90m`, `36h`, `10s`, `250ms`, or a calendar period such as `P1M`.
struct SpanField: Decodable, Sendable {
    private enum Span {
        case milliseconds(Int64)
        case period(Period)
    }

    private let span: Span

    init?(_ text: String) {
        if let period = Period(text) {
            span = .period(period)
            return
        }
        let units: [(String, Int64)] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)]
        for (unit, length) in units where text.hasSuffix(unit) {
            guard let count = Int64(text.dropLast(unit.count)), count >= 0, count <= Int64.max / length else {
                continue
            }
            span = .milliseconds(count * length)
            return
        }
        return nil
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int64.self), number >= 0 {
            span = .milliseconds(number)
        } else if let parsed = SpanField(try container.decode(String.self)) {
            self = parsed
        } else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "a span of time")
        }
    }

    /// The instant that is so much later; milliseconds since 1970.
    func added(to instant: Int64) -> Int64 {
        switch span {
        case .milliseconds(let count): instant.addingReportingOverflow(count).partialValue
        case .period(let period): period.added(to: instant)
        }
    }
}
