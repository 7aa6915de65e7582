package import Foundation

/// How every message and event is written as JSON: keys sorted (so that the same content is the same bytes), dates as
/// RFC 3339 in UTC with milliseconds, slashes as they are.
package enum MessageCoding {
    private static let dateStyle = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    private static let wholeSecondStyle = Date.ISO8601FormatStyle(includingFractionalSeconds: false)

    /// A date as text, `2026-01-01T00:00:00.000Z`.
    package static func text(_ date: Date) -> String {
        // Half a millisecond is added because the style cuts where a reader expects rounding.
        date.addingTimeInterval(0.0005).formatted(dateStyle)
    }

    /// The date that a text means; nil when it is none.
    package static func date(_ text: String) -> Date? {
        (try? dateStyle.parse(text)) ?? (try? wholeSecondStyle.parse(text))
    }

    /// The bytes of a value.
    ///
    /// - Throws: `EncodingError`, for a value that JSON cannot hold.
    package static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(MessageCoding.text(date))
        }
        return [UInt8](try encoder.encode(value))
    }

    /// The value that bytes mean; unknown fields are ignored.
    ///
    /// - Throws: `DecodingError`, for anything that is not such a value.
    package static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            let text = try container.decode(String.self)
            guard let date = MessageCoding.date(text) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an RFC 3339 date")
            }
            return date
        }
        return try decoder.decode(type, from: Data(bytes))
    }
}
