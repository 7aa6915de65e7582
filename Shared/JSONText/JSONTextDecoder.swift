package import Foundation

/// Reads JSON into `Decodable` values; unknown members are passed over, and of two of the same name the first counts.
///
/// Foundation's does the same and takes twice as long, or more.
package struct JSONTextDecoder: Sendable {
    /// Far deeper than any message; what nests deeper is refused before anything is made of it.
    package static let nestingDepthMaximum = 64

    private let dates: JSONDates

    /// Reads dates as it is told.
    ///
    /// - Parameters:
    ///   - date: the date that a text means; nil when it is none.
    ///   - usualDate: the same of the bytes of a text without escapes, in the form that is read most; nil where it is in
    ///     another, and `date` has to say.
    package init(
        date: @escaping @Sendable (String) -> Date?,
        usualDate: @escaping @Sendable (UnsafeBufferPointer<UInt8>) -> Date? = { _ in nil }
    ) {
        dates = JSONDates(any: date, usual: usualDate)
    }

    /// The value that bytes mean.
    ///
    /// - Parameters:
    ///   - nestingDepthMaximum: how deep objects and arrays may nest; the outermost is the first.
    ///   - keepsUnreadable: as ``JSONTape/Rules/keepsUnreadable``; what is unreadable has no type that anybody asks for.
    /// - Throws: `DecodingError`, for anything that is not such a value.
    package func decode<Value: Decodable>(
        _ type: Value.Type, from bytes: [UInt8], nestingDepthMaximum: Int = Self.nestingDepthMaximum,
        keepsUnreadable: Bool = false
    ) throws -> Value {
        let tape: JSONTape
        do {
            tape = try JSONTape(
                bytes,
                rules: .init(
                    nestingDepthMaximum: nestingDepthMaximum, allowsNUL: true, keepsUnreadable: keepsUnreadable))
        } catch {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "not JSON: \(error.reason)"))
        }
        return try JSONValueDecoder(JSONInput(tape, dates), index: 0, holder: nil, key: nil).decode(type)
    }
}

/// How dates are written.
struct JSONDates: Sendable {
    let any: @Sendable (String) -> Date?
    let usual: @Sendable (UnsafeBufferPointer<UInt8>) -> Date?
}

/// The text that is being read, and how dates are written in it.
final class JSONInput: Sendable {
    let tape: JSONTape
    let dates: JSONDates

    init(_ tape: JSONTape, _ dates: JSONDates) {
        self.tape = tape
        self.dates = dates
    }
}
