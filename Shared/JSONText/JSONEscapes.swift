/// What RFC 8259, section 7, writes with a backslash.
enum JSONEscapes {
    /// The high bit of each byte that is a quotation mark, a backslash or a control character.
    ///
    /// Only the lowest bit that is set is sure: borrows may set others above it.
    @inline(__always)
    static func special(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let high: UInt64 = 0x8080_8080_8080_8080
        let quote = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
        let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        return (((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash) | ((word &- ones &* 0x20) & ~word))
            & high
    }

    /// What a hexadecimal digit of ASCII means.
    static func hexDigit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    /// The characters of a string whose escapes were found to be right.
    static func resolved(_ text: UnsafeBufferPointer<UInt8>) -> String {
        var resolved: [UInt8] = []
        resolved.reserveCapacity(text.count)
        var place = 0
        while place < text.count {
            let byte = text[place]
            place += 1
            guard byte == UInt8(ascii: "\\"), place < text.count else {
                resolved.append(byte)
                continue
            }
            let letter = text[place]
            place += 1
            switch letter {
            case UInt8(ascii: "b"): resolved.append(0x08)
            case UInt8(ascii: "f"): resolved.append(0x0C)
            case UInt8(ascii: "n"): resolved.append(0x0A)
            case UInt8(ascii: "r"): resolved.append(0x0D)
            case UInt8(ascii: "t"): resolved.append(0x09)
            case UInt8(ascii: "u"): resolved.append(contentsOf: scalar(text, &place).utf8)
            default: resolved.append(letter)
            }
        }
        return String(decoding: resolved, as: UTF8.self)
    }

    /// The character whose four or, of a surrogate pair, ten digits begin here.
    private static func scalar(_ text: UnsafeBufferPointer<UInt8>, _ place: inout Int) -> String {
        var value = unit(text, &place)
        if (0xD800..<0xDC00).contains(value) {
            place += 2
            value = 0x10000 + (value - 0xD800) << 10 + (unit(text, &place) &- 0xDC00)
        }
        return String(Character(Unicode.Scalar(value) ?? "\u{FFFD}"))
    }

    private static func unit(_ text: UnsafeBufferPointer<UInt8>, _ place: inout Int) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 where place < text.count {
            value = value << 4 | (hexDigit(text[place]) ?? 0)
            place += 1
        }
        return value
    }

    /// Appends a string with its quotation marks.
    static func append(_ string: String, to bytes: inout [UInt8]) {
        var string = string
        string.withUTF8 { append($0, to: &bytes) }
    }

    private static func append(_ text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var start = 0
        while true {
            let end = firstSpecial(in: text, from: start)
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start..<end]))
            guard end < text.count else { break }
            appendEscape(of: text[end], to: &bytes)
            start = end + 1
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func firstSpecial(in text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        guard let base = UnsafeRawPointer(text.baseAddress) else { return text.count }
        var place = start
        while place + 8 <= text.count {
            let found = special(in: UInt64(littleEndian: base.loadUnaligned(fromByteOffset: place, as: UInt64.self)))
            if found != 0 { return place + found.trailingZeroBitCount / 8 }
            place += 8
        }
        while place < text.count {
            let byte = text[place]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return place }
            place += 1
        }
        return place
    }

    private static func appendEscape(of byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0..<0x20:
            let digits: StaticString = "0123456789abcdef"
            bytes.append(contentsOf: [UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")])
            bytes.append(digits.utf8Start[Int(byte >> 4)])
            bytes.append(digits.utf8Start[Int(byte & 15)])
        default: bytes.append(byte)
        }
    }
}
