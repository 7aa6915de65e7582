package import Foundation
import JSONText

/// How every message and event is written as JSON: keys sorted (so that the same content is the same bytes), dates as
/// RFC 3339 in UTC with milliseconds, slashes as they are.
package enum MessageCoding {
    private static let encoder = JSONTextEncoder(dateText: MessageDate.text)
    private static let decoder = JSONTextDecoder(date: MessageDate.date, usualDate: MessageDate.exact)

    /// A date as text, `2026-01-01T00:00:00.000Z`.
    package static func text(_ date: Date) -> String { MessageDate.text(date) }

    /// The date that a text means; nil when it is none.
    package static func date(_ text: String) -> Date? { MessageDate.date(text) }

    /// The bytes of a value.
    ///
    /// - Throws: `EncodingError`, for a value that JSON cannot hold.
    package static func encode(_ value: some Encodable) throws -> [UInt8] { try encoder.encode(value) }

    /// The value that bytes mean; unknown fields are ignored.
    ///
    /// - Parameter nestingDepthMaximum: how deep objects and arrays may nest; the outermost is the first.
    /// - Throws: `DecodingError`, for anything that is not such a value.
    package static func decode<Value: Decodable>(
        _ type: Value.Type, from bytes: [UInt8], nestingDepthMaximum: Int = JSONTextDecoder.nestingDepthMaximum
    ) throws -> Value {
        try decoder.decode(type, from: bytes, nestingDepthMaximum: nestingDepthMaximum)
    }
}
