/// Reads a JSON text byte by byte, in one pass.
struct JSONTapeScanner: ~Copyable {
    private typealias Kind = JSONTape.Kind
    private typealias Token = JSONTape.Token

    /// Good only while ``readRoot(_:)`` runs.
    private var text: UnsafeBufferPointer<UInt8>
    private let rules: JSONTape.Rules
    private var position = 0
    private var tokens: JSONMemory<JSONTape.Token>
    /// All bytes of strings together: the high bit says whether any is not ASCII.
    private var seen: UInt64 = 0

    static func tokens(of bytes: [UInt8], rules: JSONTape.Rules) throws(JSONFault) -> JSONMemory<JSONTape.Token> {
        var scanner = JSONTapeScanner(rules)
        try bytes.withUnsafeBufferPointer { text throws(JSONFault) in
            try scanner.readRoot(text)
        }
        guard scanner.seen & 0x8080_8080_8080_8080 == 0 || String(validating: bytes, as: UTF8.self) != nil else {
            throw JSONFault("not UTF-8")
        }
        return scanner.takeTokens()
    }

    private init(_ rules: JSONTape.Rules) {
        text = UnsafeBufferPointer(start: nil, count: 0)
        self.rules = rules
        tokens = JSONMemory(capacity: 64)
    }

    private consuming func takeTokens() -> JSONMemory<JSONTape.Token> { tokens }

    private mutating func readRoot(_ text: UnsafeBufferPointer<UInt8>) throws(JSONFault) {
        self.text = text
        defer { self.text = UnsafeBufferPointer(start: nil, count: 0) }
        skipSpace()
        try readValue(depth: 1)
        skipSpace()
        guard position == text.count else { throw JSONFault("something follows the value") }
    }

    private mutating func readValue(depth: Int) throws(JSONFault) {
        guard position < text.count else { throw JSONFault("ends too early") }
        switch text[position] {
        case UInt8(ascii: "\""): try readString()
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            if depth > rules.nestingDepthMaximum, rules.keepsUnreadable {
                try passOver()
            } else if text[position] == UInt8(ascii: "{") {
                try readObject(depth: depth)
            } else {
                try readArray(depth: depth)
            }
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
        close(place)
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
        close(place)
    }

    /// Passes over what nests too deep, without a call for each level: brackets and strings are looked at, and nothing else.
    private mutating func passOver() throws(JSONFault) {
        let (start, count) = (position, tokens.count)
        var open: [UInt8] = []
        repeat {
            guard position < text.count else { throw JSONFault("ends too early") }
            let byte = text[position]
            switch byte {
            case UInt8(ascii: "\""):
                try readString()
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): open.append(byte)
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard open.popLast() == (byte == UInt8(ascii: "}") ? UInt8(ascii: "{") : UInt8(ascii: "[")) else {
                    throw JSONFault("a bracket of another kind")
                }
            default: seen |= UInt64(byte)
            }
            position += 1
        } while !open.isEmpty
        tokens.cut(to: count)
        tokens.append(Token(.unreadable, start: start, end: position, next: count + 1))
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

    private mutating func close(_ place: Int) {
        var token = tokens[place]
        token.close(end: position, next: tokens.count)
        tokens[place] = token
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
        let fault = faultOfNumber(from: start, hasExponent: hasExponent)
        if let fault, !rules.keepsUnreadable { throw fault }
        tokens.append(Token(fault == nil ? .number : .unreadable, start: start, end: position, next: tokens.count + 1))
    }

    /// Why a number that ends here cannot be read.
    private func faultOfNumber(from start: Int, hasExponent: Bool) -> JSONFault? {
        guard position - start <= JSONTape.numberLengthMaximum else { return JSONFault("a number is too long") }
        guard hasExponent else { return nil }
        let digits = String(decoding: UnsafeBufferPointer(rebasing: text[start..<position]), as: UTF8.self)
        guard let number = Double(digits), number.isFinite else { return JSONFault("a number is too large") }
        let mantissa = digits.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }
        guard number != 0 || !mantissa.contains(where: { (UInt8(ascii: "1")...UInt8(ascii: "9")).contains($0) })
        else { return JSONFault("a number is too small") }
        return nil
    }

    private mutating func readString() throws(JSONFault) {
        guard take(UInt8(ascii: "\"")) else { throw JSONFault("a string was expected") }
        let start = position
        var kind = Kind.string
        var place = start
        while true {
            place = endOfPlainCharacters(from: place)
            guard place < text.count else { throw JSONFault("ends too early") }
            if text[place] == UInt8(ascii: "\"") { break }
            guard text[place] == UInt8(ascii: "\\") else { throw JSONFault("a control character in a string") }
            if kind == .string { kind = .escapedString }
            if place + 1 < text.count, Self.isOneLetterEscape(text[place + 1]) {
                place += 2
            } else {
                position = place + 1
                if let fault = try skipUnicodeEscape() {
                    guard rules.keepsUnreadable else { throw fault }
                    kind = .unreadable
                }
                place = position
            }
        }
        position = place + 1
        tokens.append(Token(kind, start: start, end: place, next: tokens.count + 1))
    }

    /// Stops at a quotation mark, a backslash or a control character; many bytes at a time, since proofs have 4 kB.
    @inline(__always)
    private mutating func endOfPlainCharacters(from start: Int) -> Int {
        guard let base = UnsafeRawPointer(text.baseAddress) else { return start }
        let count = text.count
        var place = start
        var seen: UInt64 = 0
        defer { self.seen |= seen }
        while place + 8 <= count {
            let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            let special = JSONEscapes.special(in: word)
            guard special == 0 else {
                let plain = special.trailingZeroBitCount / 8
                // What is behind the special one is seen later.
                if plain > 0 { seen |= word << (64 - 8 * UInt64(plain)) }
                return place + plain
            }
            seen |= word
            place += 8
            // What begins so is long.
            while place - start >= 32, place + 32 <= count {
                let words = base.loadUnaligned(fromByteOffset: place, as: SIMD4<UInt64>.self)
                if JSONEscapes.isAnySpecial(in: words) { break }
                seen |= words[0] | words[1] | words[2] | words[3]
                place += 32
            }
        }
        while place < count {
            let byte = base.load(fromByteOffset: place, as: UInt8.self)
            guard byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { break }
            seen |= UInt64(byte)
            place += 1
        }
        return place
    }

    @inline(__always)
    private static func isOneLetterEscape(_ letter: UInt8) -> Bool {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            true
        default: false
        }
    }

    /// An escape behind its backslash, where it is none of one letter.
    ///
    /// - Returns: why it is no character that a text may have.
    private mutating func skipUnicodeEscape() throws(JSONFault) -> JSONFault? {
        guard position < text.count else { throw JSONFault("ends too early") }
        guard take(UInt8(ascii: "u")) else { throw JSONFault("an unknown escape") }
        let unit = try readFourHexDigits()
        guard unit != 0 || rules.allowsNUL else { return JSONFault("NUL in a string") }
        guard (0xD800..<0xE000).contains(unit) else { return nil }
        let half = JSONFault("half a surrogate pair")
        let end = position
        guard unit < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
            position = end
            return half
        }
        guard !(0xDC00..<0xE000).contains(try readFourHexDigits()) else { return nil }
        // The second is a character of its own.
        position = end
        return half
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
