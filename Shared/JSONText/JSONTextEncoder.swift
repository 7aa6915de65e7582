package import Foundation

/// Writes `Encodable` values as JSON, the same content always as the same bytes.
///
/// Members are sorted by the bytes of their names, nothing stands between the tokens, slashes are as they are: just as
/// Foundation's encoder writes with `.sortedKeys` and `.withoutEscapingSlashes`.
///
/// Foundation's keeps a dictionary of boxed values for each object, and takes twice as long, or more.
package struct JSONTextEncoder: Sendable {
    private let dateText: @Sendable (Date) -> String

    /// - Parameter dateText: how a date is written.
    package init(dateText: @escaping @Sendable (Date) -> String) {
        self.dateText = dateText
    }

    /// The bytes of a value.
    ///
    /// - Throws: `EncodingError` for a number that is not finite, and what the value itself throws.
    package func encode(_ value: some Encodable) throws -> [UInt8] {
        let output = JSONOutput(dateText: dateText, capacity: 2_048)
        try output.append(value: value)
        return output.bytes
    }
}
