package import Foundation

/// Writes `Encodable` values as JSON, the same content always as the same bytes.
///
/// Members are sorted by the bytes of their names, nothing stands between the tokens, slashes are as they are: just as
/// Foundation's encoder writes with `.sortedKeys` and `.withoutEscapingSlashes`.
///
/// Foundation's keeps a dictionary of boxed values for each object, and takes about twice as long, or more.
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
        let output = JSONOutput(dateText: dateText)
        try output.append(value)
        return output.bytes
    }
}

/// The text so far, and the containers that are open in it.
///
/// A value is written behind the text when it is encoded. When it is complete, its members are put in order: a container
/// has no end of its own in `Codable`, but its value has.
final class JSONOutput {
    /// A member or an element: where its text stands, or who still collects it.
    private struct Entry {
        let name: String
        let range: Range<Int>
        let content: JSONOutput?
    }

    private enum Form {
        case undecided, object, array
    }

    let dateText: @Sendable (Date) -> String
    fileprivate(set) var bytes: [UInt8] = []
    private var entries: [Entry] = []
    // The value that is being encoded: what it turned out to be, and where its text and its entries begin.
    private var form = Form.undecided
    private var start = 0
    private var firstEntry = 0

    init(dateText: @escaping @Sendable (Date) -> String) {
        self.dateText = dateText
        bytes.reserveCapacity(1_024)
    }

    /// How many elements the array that is being encoded has.
    var count: Int { entries.count - firstEntry }

    func begin(object isObject: Bool) {
        form = isObject ? .object : .array
    }

    /// A whole value, at the end of the text.
    func append<Value: Encodable>(_ value: Value) throws {
        if Value.self == Date.self, let date = value as? Date {
            JSONEscapes.append(dateText(date), to: &bytes)
            return
        }
        let outer = (form, start, firstEntry)
        (form, start, firstEntry) = (.undecided, bytes.count, entries.count)
        defer { (form, start, firstEntry) = outer }
        try value.encode(to: JSONValueEncoder(output: self))
        close()
    }

    func append(member name: String, _ write: () throws -> Void) rethrows {
        let place = bytes.count
        try write()
        entries.append(Entry(name: name, range: place..<bytes.count, content: nil))
    }

    /// A member that somebody goes on writing.
    func open(member name: String, object isObject: Bool?) -> JSONOutput {
        let content = JSONOutput(dateText: dateText)
        if let isObject { content.begin(object: isObject) }
        entries.append(Entry(name: name, range: bytes.count..<bytes.count, content: content))
        return content
    }

    /// Puts the value together that is being encoded, and lets its parts go.
    private func close() {
        guard form != .undecided else {
            // A value that encodes nothing is an empty object, as Foundation has it.
            if bytes.count == start { bytes.append(contentsOf: [UInt8(ascii: "{"), UInt8(ascii: "}")]) }
            return
        }
        let isObject = form == .object
        if isObject {
            entries[firstEntry...].sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        }
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count - start + 24 * count + 2)
        text.append(isObject ? UInt8(ascii: "{") : UInt8(ascii: "["))
        for entry in entries[firstEntry...] {
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            if isObject {
                JSONEscapes.append(entry.name, to: &text)
                text.append(UInt8(ascii: ":"))
            }
            if let content = entry.content {
                content.close()
                text.append(contentsOf: content.bytes)
            } else {
                text.append(contentsOf: bytes[entry.range])
            }
        }
        text.append(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
        bytes.removeLast(bytes.count - start)
        bytes.append(contentsOf: text)
        entries.removeLast(entries.count - firstEntry)
    }

    // Values without parts.

    func append(_ text: String) { JSONEscapes.append(text, to: &bytes) }
    func append(_ isTrue: Bool) { bytes.append(contentsOf: isTrue ? Self.true : Self.false) }
    func append(_ number: some BinaryInteger & CustomStringConvertible & Encodable) {
        bytes.append(contentsOf: number.description.utf8)
    }
    func appendNull() { bytes.append(contentsOf: Self.null) }

    func append(_ number: some BinaryFloatingPoint & LosslessStringConvertible & Encodable) throws {
        guard number.isFinite else {
            throw EncodingError.invalidValue(
                number, .init(codingPath: [], debugDescription: "JSON has no number that is not finite"))
        }
        let text = number.description
        bytes.append(contentsOf: text.hasSuffix(".0") ? text.dropLast(2).utf8 : text[...].utf8)
    }

    private static let `true` = Array("true".utf8)
    private static let `false` = Array("false".utf8)
    private static let null = Array("null".utf8)
}
