/// The fields of a JSON object that the simulator wrote, in their order, so that a forger can change one of them.
///
/// Reads what ``JSONText`` writes: an object without spaces between its tokens.
struct PayloadText: Sendable {
    /// Names and values as they are written, the names with their quotes.
    private(set) var fields: [(name: String, value: String)] = []

    init(_ object: String) {
        var start = object.utf8.index(after: object.utf8.startIndex)
        var nameEnd: String.Index?
        var depth = 1
        var isInString = false
        var isEscaped = false
        var position = start
        while position < object.utf8.endIndex {
            let byte = object.utf8[position]
            let next = object.utf8.index(after: position)
            defer { position = next }
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: ":") where depth == 1 && nameEnd == nil: nameEnd = position
            case UInt8(ascii: ",") where depth == 1, UInt8(ascii: "}") where depth == 1:
                if let end = nameEnd {
                    let valueStart = object.utf8.index(after: end)
                    fields.append((String(object[start..<end]), String(object[valueStart..<position])))
                }
                nameEnd = nil
                start = next
                if byte == UInt8(ascii: "}") { depth -= 1 }
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
        }
    }

    /// The object.
    var text: String { "{\(fields.map { "\($0.name):\($0.value)" }.joined(separator: ","))}" }

    /// A field's value as it is written.
    ///
    /// Setting nil removes it; setting a new one puts it at the end.
    subscript(name: String) -> String? {
        get { fields.first { $0.name == "\"\(name)\"" }?.value }
        set {
            let quoted = "\"\(name)\""
            let index = fields.firstIndex { $0.name == quoted }
            switch (index, newValue) {
            case (let index?, let value?): fields[index].value = value
            case (let index?, nil): fields.remove(at: index)
            case (nil, let value?): fields.append((quoted, value))
            case (nil, nil): break
            }
        }
    }

    /// Adds a field though there may be one of that name.
    ///
    /// - Parameters:
    ///   - name: with its quotes.
    mutating func append(name: String, _ value: String) {
        fields.append((name, value))
    }
}
