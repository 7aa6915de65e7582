import AppStore
import Foundation

@testable import AppStoreSimulator

/// Changes of what is signed, by somebody who has the leaf's key: what Apple itself could send one day.
extension MutationGenerator {
    private enum Count {
        /// Bytes changed in the JSON of each payload.
        static let jsonBytes = 48
        /// Payloads with more JSON carry other signatures, whose bytes differ from run to run.
        static let jsonBytesMaximum = 1_000
    }

    private static let contents = ["data", "summary", "externalPurchaseToken", "appData"]

    /// Every field, and every field of the content, with every change.
    mutating func addFields(_ base: MutationBase) throws {
        let payload = PayloadText(base.payload)
        for (name, text) in Self.fieldChanges(payload) {
            add(base, .field, name, try signed(base, payload: text))
        }
        for content in Self.contents {
            guard let value = payload[content] else { continue }
            for (name, text) in Self.fieldChanges(PayloadText(value)) {
                var changed = payload
                changed[content] = text
                add(base, .field, "\(content).\(name)", try signed(base, payload: changed.text))
            }
        }
    }

    /// The object with each field changed in each way.
    private static func fieldChanges(_ payload: PayloadText) -> [(String, String)] {
        payload.fields.flatMap { field -> [(String, String)] in
            let name = String(field.name.dropFirst().dropLast())
            var changes: [(String, String)] = values(insteadOf: field.value).map { what, value in
                var changed = payload
                changed[name] = value
                return ("\(name): \(what)", changed.text)
            }
            changes += nameChanges(payload, name, field.value)
            return changes
        }
    }

    /// Other values in a value's place; nil leaves the field out.
    private static func values(insteadOf value: String) -> [(String, String?)] {
        var values: [(String, String?)] = [
            ("absent", nil), ("null", "null"), ("empty", "\"\""), ("true", "true"), ("false", "false"), ("list", "[]"),
            ("object", "{}"), ("zero", "0"), ("minus one", "-1"), ("one and a half", "1.5"),
            ("beyond 64 bits", "9223372036854775808"),
            ("beyond doubles", "1e400"), ("NaN", "NaN"), ("in a list", "[\(value)]"), ("other text", "\"other\""),
        ]
        guard value.hasPrefix("\"") else {
            guard Int64(value) != nil else { return values }
            return values + [
                ("as text", "\"\(value)\""), ("with a fraction of zero", "\(value).0"),
                ("with an exponent", "\(value)e0"),
                ("with half", "\(value).5"), ("one more", "\(value)1"), ("a zero in front", "0\(value)"),
                ("a sign", "+\(value)"),
            ]
        }
        let text = String(value.dropFirst().dropLast())
        // What is signed in it is spoiled elsewhere.
        guard text.utf8.count < 100 else { return values }
        values += [
            ("a space behind", "\"\(text) \""), ("a NUL behind", "\"\(text)\\u0000\""), ("escaped", escaped(text)),
            ("half a surrogate behind", "\"\(text)\\ud800\""), ("a line break within", "\"\(text)\n\""),
            ("another letter", "\"\(text)x\""), ("in capitals", "\"\(text.uppercased())\""),
            ("an escape that is none", "\"\(text)\\x\""), ("the Kelvin sign behind", "\"\(text)\u{212A}\""),
        ]
        if Int64(text) != nil { values.append(("as a number", text)) }
        if let environments = ["Production": "Sandbox", "Sandbox": "Production"][text] {
            values += [environments, "Xcode", "LocalTesting", "production"].map { ($0, "\"\($0)\"") }
        }
        return values
    }

    /// The field under another name, or twice.
    private static func nameChanges(_ payload: PayloadText, _ name: String, _ value: String) -> [(String, String)] {
        func without() -> PayloadText {
            var changed = payload
            changed[name] = nil
            return changed
        }
        func with(_ payload: PayloadText, _ name: String, _ value: String) -> String {
            var changed = payload
            changed.append(name: name, value)
            return changed.text
        }
        let first = "{\"\(name)\":\"other\"," + payload.text.dropFirst()
        return [
            ("\(name): name in capitals", with(without(), "\"\(name.uppercased())\"", value)),
            ("\(name): name escaped", with(without(), escaped(name), value)),
            ("\(name): twice, the same", with(payload, "\"\(name)\"", value)),
            ("\(name): twice, then another", with(payload, "\"\(name)\"", "\"other\"")),
            ("\(name): twice, first another", first),
            ("\(name): twice, escaped", with(payload, escaped(name), value)),
        ]
    }

    private static func escaped(_ text: String) -> String {
        guard let first = text.utf8.first else { return "\"\"" }
        return "\"\\u00\(String(first, radix: 16))\(text.dropFirst())\""
    }

    /// The JSON as a whole, in other words.
    mutating func addJSON(_ base: MutationBase) throws {
        let good = base.payload
        let open = String(good.dropLast())
        let texts: [(String, String)] = [
            ("empty", ""), ("null", "null"), ("list", "[\(good)]"), ("twice", good + good), ("cut", open),
            ("text", "\"\(good.count)\""), ("spaces around", " \n\t\(good)\r\n "),
            ("byte order mark", "\u{FEFF}\(good)"),
            ("comma at the end", "\(open),}"), ("a comment", "\(open)/**/}"), ("a NUL behind", good + "\u{0}"),
            ("a form feed behind", good + "\u{C}"), ("single quotes", good.replacingOccurrences(of: "\"", with: "'")),
            ("spaces within", good.replacingOccurrences(of: "\":", with: "\" : ")),
            ("an unknown field", "\(open),\"later\":{\"a\":[1,2.5,\"b\",null,true]}}"),
            ("an unknown field twice", "\(open),\"later\":1,\"later\":2}"),
            ("a nested field twice", "\(open),\"later\":{\"a\":1,\"a\":2}}"),
            ("infinity", "\(open),\"later\":Infinity}"), ("NaN", "\(open),\"later\":NaN}"),
            ("a huge number", "\(open),\"later\":1e999}"),
            ("a long number", "\(open),\"later\":\(String(repeating: "9", count: 500))}"),
            ("31 lists deep", "\(open),\"later\":\(Self.lists(31))}"),
            ("50 lists deep", "\(open),\"later\":\(Self.lists(50))}"),
            ("20,000 lists deep", "\(open),\"later\":\(Self.lists(20_000))}"),
            ("no name", "\(open),\"\":1}"), ("a NUL in a name", "\(open),\"a\\u0000\":1}"),
        ]
        let claims: [(String, String)] = [
            ("exp", "1"), ("exp", "\"never\""), ("nbf", "4102444800"), ("iat", "4102444800"), ("iat", "\"x\""),
            ("aud", "\"others\""), ("iss", "\"others\""), ("iss", "1"), ("sub", "1"), ("jti", "1"),
        ]
        let claimed = claims.map { ("claim \($0.0) \($0.1)", "\(open),\"\($0.0)\":\($0.1)}") }
        for (name, text) in texts + claimed { add(base, .json, name, try signed(base, payload: text)) }

        let units = Array(good.utf16)
        let encodings: [(String, [UInt8])] = [
            ("UTF-16, big end first", units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }),
            ("UTF-16 with a mark", [0xFF, 0xFE] + units.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }),
            ("UTF-32", units.flatMap { [0, 0, UInt8($0 >> 8), UInt8($0 & 0xFF)] }),
            ("a surrogate in UTF-8", Array("\(open),\"later\":\"".utf8) + [0xED, 0xA0, 0x80] + Array("\"}".utf8)),
            ("an overlong letter", Array("\(open),\"later\":\"".utf8) + [0xC1, 0x81] + Array("\"}".utf8)),
            ("Latin-1", Array("\(open),\"later\":\"".utf8) + [0xE9] + Array("\"}".utf8)),
        ]
        for (name, bytes) in encodings { add(base, .json, name, try signed(base, payload: bytes)) }
    }

    private static func lists(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    /// One byte of the JSON changed, anywhere.
    mutating func addJSONBytes(_ base: MutationBase) throws {
        let bytes = Array(base.payload.utf8)
        guard bytes.count <= Count.jsonBytesMaximum else { return }
        for number in 0..<Count.jsonBytes {
            let change = ByteChange.allCases[number % ByteChange.allCases.count]
            let position = Int.random(in: 0..<bytes.count, using: &random)
            let changed = change.applied(to: bytes, at: position, &random)
            add(base, .jsonByte, "\(change) at \(position)", try signed(base, payload: changed))
        }
    }
}
