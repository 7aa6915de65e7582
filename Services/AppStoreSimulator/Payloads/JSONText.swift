/// Writes a JSON object with its fields in the order given: the order in which Apple writes them.
struct JSONText {
    private(set) var text = "{"

    /// The finished object.
    var object: String { text + "}" }

    /// The finished object with a merge patch applied, JSON (RFC 7396).
    func object(patchedBy patch: String) -> String {
        guard let patch = OrderedJSON(patch), let whole = OrderedJSON(object) else { return object }
        return whole.merging(patch).text
    }

    mutating func add(_ name: String, _ value: String?) {
        guard let value else { return }
        addName(name)
        text += Self.quoted(value)
    }

    mutating func add(_ name: String, _ value: Int64?) {
        guard let value else { return }
        addName(name)
        text += String(value)
    }

    mutating func add(_ name: String, _ value: Bool?) {
        guard let value else { return }
        addName(name)
        text += value ? "true" : "false"
    }

    mutating func add(_ name: String, _ values: [String]) {
        add(name, json: "[\(values.map(Self.quoted).joined(separator: ","))]")
    }

    /// Adds a value that is JSON already.
    mutating func add(_ name: String, json: String) {
        addName(name)
        text += json
    }

    private mutating func addName(_ name: String) {
        if text.utf8.count > 1 { text += "," }
        text += Self.quoted(name)
        text += ":"
    }

    static func quoted(_ value: String) -> String {
        // Nearly all are plain: then it is one copy.
        let isPlain = value.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        if isPlain { return "\"\(value)\"" }
        var quoted: [UInt8] = [UInt8(ascii: "\"")]
        quoted.reserveCapacity(value.utf8.count + 2)
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                quoted.append(UInt8(ascii: "\\"))
                quoted.append(byte)
            case 0..<0x20:
                let digits = String(byte, radix: 16)
                quoted.append(contentsOf: Array("\\u00\(digits.count == 1 ? "0" : "")\(digits)".utf8))
            default:
                quoted.append(byte)
            }
        }
        quoted.append(UInt8(ascii: "\""))
        return String(decoding: quoted, as: UTF8.self)
    }
}
