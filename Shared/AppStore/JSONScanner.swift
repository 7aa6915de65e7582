/// Reads JSON byte by byte (RFC 8259), within limits.
struct JSONScanner {
    /// Characters of a number; the longest that Apple writes has 18, and a double needs no more than 25.
    private static let numberLengthMaximum = 64

    private let text: [UInt8]
    private let end: Int
    private let nestingDepthMaximum: Int
    private var position: Int

    init(_ text: [UInt8], in range: Range<Int>, nestingDepthMaximum: Int) {
        self.text = text
        self.end = range.upperBound
        self.position = range.lowerBound
        self.nestingDepthMaximum = nestingDepthMaximum
    }

    /// The whole range as one object.
    mutating func readRootObject() throws(JSONFault) -> [String: JSONValue] {
        skipSpace()
        guard take(UInt8(ascii: "{")) else { throw JSONFault("not an object") }
        var fields: [String: JSONValue] = [:]
        fields.reserveCapacity(32)
        skipSpace()
        if !take(UInt8(ascii: "}")) {
            repeat {
                skipSpace()
                let name = try readString()
                try expect(UInt8(ascii: ":"))
                let value = try readValue(depth: 1)
                guard fields.updateValue(value, forKey: name) == nil else { throw JSONFault("a field occurs twice") }
                skipSpace()
            } while take(UInt8(ascii: ","))
            try expect(UInt8(ascii: "}"))
        }
        try expectEnd()
        return fields
    }

    /// The whole range as one array.
    mutating func readRootArray() throws(JSONFault) -> [JSONValue] {
        skipSpace()
        guard take(UInt8(ascii: "[")) else { throw JSONFault("not an array") }
        var elements: [JSONValue] = []
        skipSpace()
        if !take(UInt8(ascii: "]")) {
            repeat {
                elements.append(try readValue(depth: 1))
                skipSpace()
            } while take(UInt8(ascii: ","))
            try expect(UInt8(ascii: "]"))
        }
        try expectEnd()
        return elements
    }

    private mutating func readValue(depth: Int) throws(JSONFault) -> JSONValue {
        skipSpace()
        guard position < end else { throw JSONFault("ends too early") }
        switch text[position] {
        case UInt8(ascii: "\""):
            return .string(try readString())
        case UInt8(ascii: "{"):
            let start = position
            try skipContainer(depth: depth + 1)
            return .object(start..<position)
        case UInt8(ascii: "["):
            let start = position
            try skipContainer(depth: depth + 1)
            return .array(start..<position)
        case UInt8(ascii: "t"):
            try expectWord("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try expectWord("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try expectWord("null")
            return .null
        default:
            return try readNumber()
        }
    }

    /// Checks an object or array that nobody has asked for yet, and steps over it.
    private mutating func skipContainer(depth: Int) throws(JSONFault) {
        guard depth <= nestingDepthMaximum else { throw JSONFault("nested deeper than \(nestingDepthMaximum)") }
        let isObject = text[position] == UInt8(ascii: "{")
        let close = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
        position += 1
        skipSpace()
        if take(close) { return }
        repeat {
            skipSpace()
            if isObject {
                _ = try readString()
                try expect(UInt8(ascii: ":"))
            }
            _ = try readValue(depth: depth)
            skipSpace()
        } while take(UInt8(ascii: ","))
        try expect(close)
    }

    private mutating func readNumber() throws(JSONFault) -> JSONValue {
        let start = position
        _ = take(UInt8(ascii: "-"))
        let integerStart = position
        skipDigits()
        guard position > integerStart else { throw JSONFault("not a value") }
        guard position == integerStart + 1 || text[integerStart] != UInt8(ascii: "0") else {
            throw JSONFault("a number starts with zero")
        }
        var isInteger = true
        if take(UInt8(ascii: ".")) {
            isInteger = false
            try expectDigits()
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            isInteger = false
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try expectDigits()
        }
        guard position - start <= Self.numberLengthMaximum else { throw JSONFault("a number is too long") }
        let digits = String(decoding: text[start..<position], as: UTF8.self)
        if isInteger, let integer = Int64(digits) { return .integer(integer) }
        guard let number = Double(digits), number.isFinite else { throw JSONFault("a number is too large") }
        return .number(number)
    }

    private mutating func readString() throws(JSONFault) -> String {
        guard take(UInt8(ascii: "\"")) else { throw JSONFault("a string was expected") }
        let start = position
        while position < end {
            let byte = text[position]
            if byte == UInt8(ascii: "\"") {
                let string = String(decoding: text[start..<position], as: UTF8.self)
                position += 1
                return string
            }
            if byte == UInt8(ascii: "\\") { return try readEscapedString(from: start) }
            guard byte >= 0x20 else { throw JSONFault("a control character in a string") }
            position += 1
        }
        throw JSONFault("ends too early")
    }

    /// A string with escapes, of which the part from `start` to the position is read already.
    private mutating func readEscapedString(from start: Int) throws(JSONFault) -> String {
        var decoded = Array(text[start..<position])
        while position < end {
            let byte = text[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: decoded, as: UTF8.self)
            case UInt8(ascii: "\\"): try readEscape(into: &decoded)
            case 0..<0x20: throw JSONFault("a control character in a string")
            default: decoded.append(byte)
            }
        }
        throw JSONFault("ends too early")
    }

    private mutating func readEscape(into decoded: inout [UInt8]) throws(JSONFault) {
        guard position < end else { throw JSONFault("ends too early") }
        let letter = text[position]
        position += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): decoded.append(letter)
        case UInt8(ascii: "b"): decoded.append(0x08)
        case UInt8(ascii: "f"): decoded.append(0x0C)
        case UInt8(ascii: "n"): decoded.append(0x0A)
        case UInt8(ascii: "r"): decoded.append(0x0D)
        case UInt8(ascii: "t"): decoded.append(0x09)
        case UInt8(ascii: "u"): decoded.append(contentsOf: Array(String(try readUnicodeEscape()).utf8))
        default: throw JSONFault("an unknown escape")
        }
    }

    private mutating func readUnicodeEscape() throws(JSONFault) -> Character {
        var value = UInt32(try readFourHexDigits())
        if (0xD800..<0xDC00).contains(value) {
            guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw JSONFault("half a surrogate pair") }
            let low = UInt32(try readFourHexDigits())
            guard (0xDC00..<0xE000).contains(low) else { throw JSONFault("half a surrogate pair") }
            value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
        }
        // PostgreSQL cannot keep NUL in a text, so a string with one would be refused later, and for ever.
        guard value != 0 else { throw JSONFault("NUL in a string") }
        guard let scalar = Unicode.Scalar(value) else { throw JSONFault("half a surrogate pair") }
        return Character(scalar)
    }

    private mutating func readFourHexDigits() throws(JSONFault) -> UInt16 {
        guard position + 4 <= end else { throw JSONFault("ends too early") }
        var value: UInt16 = 0
        for byte in text[position..<(position + 4)] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
                throw JSONFault("not a hexadecimal digit")
            }
            value = value << 4 | UInt16(digit)
        }
        position += 4
        return value
    }

    private mutating func skipSpace() {
        while position < end {
            switch text[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private mutating func skipDigits() {
        while position < end, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(text[position]) { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < end, text[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ byte: UInt8) throws(JSONFault) {
        skipSpace()
        guard take(byte) else { throw JSONFault("a separator is missing") }
    }

    private mutating func expectDigits() throws(JSONFault) {
        let start = position
        skipDigits()
        guard position > start else { throw JSONFault("a digit is missing") }
    }

    private mutating func expectWord(_ word: StaticString) throws(JSONFault) {
        for index in 0..<word.utf8CodeUnitCount {
            guard take(word.utf8Start[index]) else { throw JSONFault("not a value") }
        }
    }

    private mutating func expectEnd() throws(JSONFault) {
        skipSpace()
        guard position == end else { throw JSONFault("something follows the value") }
    }
}
