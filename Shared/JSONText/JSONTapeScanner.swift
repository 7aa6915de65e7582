/// Reads a JSON text byte by byte, in one pass.
struct JSONTapeScanner {
    private typealias Kind = JSONTape.Kind
    private typealias Token = JSONTape.Token

    private let text: UnsafeBufferPointer<UInt8>
    private let rules: JSONTape.Rules
    private var position = 0
    private var tokens: [JSONTape.Token] = []
    /// All bytes of strings together: the high bit says whether any is not ASCII.
    private var seen: UInt64 = 0

    static func tokens(of bytes: [UInt8], rules: JSONTape.Rules) throws(JSONFault) -> [JSONTape.Token] {
        let result: Result<(tokens: [JSONTape.Token], isASCII: Bool), JSONFault> = bytes.withUnsafeBufferPointer {
            text in
            var scanner = JSONTapeScanner(text, rules)
            do throws(JSONFault) {
                try scanner.readRoot()
                return .success((scanner.tokens, scanner.seen & 0x8080_8080_8080_8080 == 0))
            } catch {
                return .failure(error)
            }
        }
        let (tokens, isASCII) = try result.get()
        guard isASCII || String(validating: bytes, as: UTF8.self) != nil else { throw JSONFault("not UTF-8") }
        return tokens
    }

    private init(_ text: UnsafeBufferPointer<UInt8>, _ rules: JSONTape.Rules) {
        self.text = text
        self.rules = rules
        tokens.reserveCapacity(64)
    }

    private mutating func readRoot() throws(JSONFault) {
        skipSpace()
        try readValue(depth: 1)
        skipSpace()
        guard position == text.count else { throw JSONFault("something follows the value") }
    }

    private mutating func readValue(depth: Int) throws(JSONFault) {
        guard position < text.count else { throw JSONFault("ends too early") }
        switch text[position] {
        case UInt8(ascii: "\""): try readString()
        case UInt8(ascii: "{"): try readObject(depth: depth)
        case UInt8(ascii: "["): try readArray(depth: depth)
        case UInt8(ascii: "t"): try readWord("true", .true)
        case UInt8(ascii: "f"): try readWord("false", .false)
        case UInt8(ascii: "n"): try readWord("null", .null)
        default: try readNumber()
        }
    }

    private mutating func readObject(depth: Int) throws(JSONFault) {
        let place = try open(.object, depth: depth)
        if !take(UInt8(ascii: "}")) {
            repeat {
                skipSpace()
                try readString()
                try expect(UInt8(ascii: ":"))
                skipSpace()
                try readValue(depth: depth + 1)
                skipSpace()
            } while take(UInt8(ascii: ","))
            try expect(UInt8(ascii: "}"))
        }
        tokens[place].close(end: position, next: tokens.count)
    }

    private mutating func readArray(depth: Int) throws(JSONFault) {
        let place = try open(.array, depth: depth)
        if !take(UInt8(ascii: "]")) {
            repeat {
                skipSpace()
                try readValue(depth: depth + 1)
                skipSpace()
            } while take(UInt8(ascii: ","))
            try expect(UInt8(ascii: "]"))
        }
        tokens[place].close(end: position, next: tokens.count)
    }

    private mutating func open(_ kind: JSONTape.Kind, depth: Int) throws(JSONFault) -> Int {
        guard depth <= rules.nestingDepthMaximum else {
            throw JSONFault("nested deeper than \(rules.nestingDepthMaximum)")
        }
        tokens.append(Token(kind, start: position, end: position, next: 0))
        position += 1
        skipSpace()
        return tokens.count - 1
    }

    private mutating func readNumber() throws(JSONFault) {
        let start = position
        _ = take(UInt8(ascii: "-"))
        let integerStart = position
        skipDigits()
        guard position > integerStart else { throw JSONFault("not a value") }
        guard position == integerStart + 1 || text[integerStart] != UInt8(ascii: "0") else {
            throw JSONFault("a number starts with zero")
        }
        if take(UInt8(ascii: ".")) { try expectDigits() }
        var hasExponent = false
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            hasExponent = true
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try expectDigits()
        }
        guard position - start <= JSONTape.numberLengthMaximum else { throw JSONFault("a number is too long") }
        if hasExponent {
            let digits = String(decoding: UnsafeBufferPointer(rebasing: text[start..<position]), as: UTF8.self)
            guard let number = Double(digits), number.isFinite else { throw JSONFault("a number is too large") }
            let mantissa = digits.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }
            guard number != 0 || !mantissa.contains(where: { (UInt8(ascii: "1")...UInt8(ascii: "9")).contains($0) })
            else { throw JSONFault("a number is too small") }
        }
        tokens.append(Token(.number, start: start, end: position, next: tokens.count + 1))
    }

    private mutating func readString() throws(JSONFault) {
        guard take(UInt8(ascii: "\"")) else { throw JSONFault("a string was expected") }
        let start = position
        var kind = Kind.string
        while true {
            skipPlainCharacters()
            guard position < text.count else { throw JSONFault("ends too early") }
            let byte = text[position]
            if byte == UInt8(ascii: "\"") { break }
            guard byte == UInt8(ascii: "\\") else { throw JSONFault("a control character in a string") }
            kind = .escapedString
            position += 1
            try skipEscape()
        }
        tokens.append(Token(kind, start: start, end: position, next: tokens.count + 1))
        position += 1
    }

    /// Stops at a quotation mark, a backslash or a control character; eight bytes at a time, since proofs have 4 kB.
    private mutating func skipPlainCharacters() {
        let base = UnsafeRawPointer(text.baseAddress)
        while let base, position + 8 <= text.count {
            let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            let special = JSONEscapes.special(in: word)
            guard special == 0 else {
                let plain = special.trailingZeroBitCount / 8
                if plain > 0 { seen |= word << (64 - 8 * UInt64(plain)) }
                position += plain
                return
            }
            seen |= word
            position += 8
        }
        while position < text.count {
            let byte = text[position]
            guard byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { return }
            seen |= UInt64(byte)
            position += 1
        }
    }

    private mutating func skipEscape() throws(JSONFault) {
        guard position < text.count else { throw JSONFault("ends too early") }
        let letter = text[position]
        position += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return
        case UInt8(ascii: "u"): break
        default: throw JSONFault("an unknown escape")
        }
        let unit = try readFourHexDigits()
        guard unit != 0 || rules.allowsNUL else { throw JSONFault("NUL in a string") }
        if (0xD800..<0xDC00).contains(unit) {
            guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw JSONFault("half a surrogate pair") }
            guard (0xDC00..<0xE000).contains(try readFourHexDigits()) else { throw JSONFault("half a surrogate pair") }
        } else if (0xDC00..<0xE000).contains(unit) {
            throw JSONFault("half a surrogate pair")
        }
    }

    private mutating func readFourHexDigits() throws(JSONFault) -> UInt32 {
        guard position + 4 <= text.count else { throw JSONFault("ends too early") }
        var value: UInt32 = 0
        for place in position..<(position + 4) {
            guard let digit = JSONEscapes.hexDigit(text[place]) else { throw JSONFault("not a hexadecimal digit") }
            value = value << 4 | digit
        }
        position += 4
        return value
    }

    private mutating func readWord(_ word: StaticString, _ kind: JSONTape.Kind) throws(JSONFault) {
        let start = position
        for index in 0..<word.utf8CodeUnitCount {
            guard take(word.utf8Start[index]) else { throw JSONFault("not a value") }
        }
        tokens.append(Token(kind, start: start, end: position, next: tokens.count + 1))
    }

    private mutating func skipSpace() {
        while position < text.count {
            switch text[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private mutating func skipDigits() {
        while position < text.count, text[position] &- UInt8(ascii: "0") <= 9 { position += 1 }
    }

    private mutating func expectDigits() throws(JSONFault) {
        let start = position
        skipDigits()
        guard position > start else { throw JSONFault("a digit is missing") }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < text.count, text[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ byte: UInt8) throws(JSONFault) {
        skipSpace()
        guard take(byte) else { throw JSONFault("a separator is missing") }
    }
}
