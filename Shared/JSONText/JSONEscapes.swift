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

    /// Whether any of 32 bytes is one of those.
    @inline(__always)
    static func isAnySpecial(in words: SIMD4<UInt64>) -> Bool {
        let ones = SIMD4<UInt64>(repeating: 0x0101_0101_0101_0101)
        let quote = words ^ SIMD4(repeating: 0x0101_0101_0101_0101 * UInt64(UInt8(ascii: "\"")))
        let backslash = words ^ SIMD4(repeating: 0x0101_0101_0101_0101 * UInt64(UInt8(ascii: "\\")))
        let control = (words &- SIMD4(repeating: 0x2020_2020_2020_2020)) & ~words
        let found = ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash) | control
        return (found[0] | found[1] | found[2] | found[3]) & 0x8080_8080_8080_8080 != 0
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
        guard let source = UnsafeRawPointer(text.baseAddress) else { return "" }
        // No escape is shorter than what it means, so there is always as much room as there is text left. A string of up to
        // 15 bytes is kept in place, and nothing may be left behind its end.
        let isLong = text.count > 15
        return String(unsafeUninitializedCapacity: text.count) { characters in
            guard let base = characters.baseAddress else { return 0 }
            let target = UnsafeMutableRawPointer(base)
            var (place, end) = (0, 0)
            while place < text.count {
                if isLong, place + 8 <= text.count {
                    let word = source.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                    target.storeBytes(of: word, toByteOffset: end, as: UInt64.self)
                    let plain = backslashes(in: UInt64(littleEndian: word)).trailingZeroBitCount / 8
                    place += plain
                    end += plain
                    if plain == 8 { continue }
                }
                let byte = text[place]
                place += 1
                if byte == UInt8(ascii: "\\"), place < text.count {
                    end = appendMeaning(of: text, &place, to: characters, at: end)
                } else {
                    characters[end] = byte
                    end += 1
                }
            }
            return end
        }
    }

    /// The high bit of each byte that is a backslash; only the lowest bit that is set is sure.
    @inline(__always)
    private static func backslashes(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        return (backslash &- ones) & ~backslash & 0x8080_8080_8080_8080
    }

    /// Puts down what the escape means whose letter stands at a place; returns where that ends.
    @inline(__always)
    private static func appendMeaning(
        of text: UnsafeBufferPointer<UInt8>, _ place: inout Int, to characters: UnsafeMutableBufferPointer<UInt8>,
        at end: Int
    ) -> Int {
        let letter = text[place]
        place += 1
        var end = end
        switch letter {
        case UInt8(ascii: "b"): characters[end] = 0x08
        case UInt8(ascii: "f"): characters[end] = 0x0C
        case UInt8(ascii: "n"): characters[end] = 0x0A
        case UInt8(ascii: "r"): characters[end] = 0x0D
        case UInt8(ascii: "t"): characters[end] = 0x09
        case UInt8(ascii: "u"):
            for unit in UTF8.encode(scalar(text, &place)) ?? UTF8.encodedReplacementCharacter {
                characters[end] = unit
                end += 1
            }
            return end
        default: characters[end] = letter
        }
        return end + 1
    }

    /// The character whose four or, of a surrogate pair, ten digits begin here.
    private static func scalar(_ text: UnsafeBufferPointer<UInt8>, _ place: inout Int) -> Unicode.Scalar {
        var value = unit(text, &place)
        if (0xD800..<0xDC00).contains(value) {
            place += 2
            value = 0x10000 + (value - 0xD800) << 10 &+ (unit(text, &place) &- 0xDC00)
        }
        return Unicode.Scalar(value) ?? "\u{FFFD}"
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
    static func append(_ string: String, to bytes: inout JSONMemory<UInt8>) {
        var string = string
        string.withUTF8 { append($0, to: &bytes) }
    }

    /// Appends characters between quotation marks; a text may be all escapes, as JSON within JSON nearly is.
    static func append(_ text: UnsafeBufferPointer<UInt8>, to bytes: inout JSONMemory<UInt8>) {
        // The quotation marks, and a word of which only the beginning counts.
        bytes.reserve(text.count + 10)
        bytes.append(UInt8(ascii: "\""))
        var place = 0
        while let special = copyPlain(text, &place, to: &bytes) {
            // An escape has six bytes at most: the room that is left must do for the rest of the text, as before.
            bytes.reserve(text.count - place + 16)
            appendEscape(of: special, to: &bytes)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Copies all up to the next byte that needs an escape, and passes over that; nil at the end of the text.
    ///
    /// There must be room for the rest of the text and eight bytes more.
    @inline(__always)
    private static func copyPlain(
        _ text: UnsafeBufferPointer<UInt8>, _ place: inout Int, to bytes: inout JSONMemory<UInt8>
    ) -> UInt8? {
        guard let source = UnsafeRawPointer(text.baseAddress) else { return nil }
        // No byte of a text becomes less than one, so this is never before the first.
        let target = UnsafeMutableRawPointer(bytes.base) + (bytes.count - place)
        let start = place
        while place + 8 <= text.count {
            let word = source.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            target.storeBytes(of: word, toByteOffset: place, as: UInt64.self)
            let plain = special(in: UInt64(littleEndian: word)).trailingZeroBitCount / 8
            place += plain
            if plain < 8 {
                bytes.take(place - start)
                place += 1
                return text[place - 1]
            }
            // What begins so is long.
            while place - start >= 32, place + 32 <= text.count {
                let words = source.loadUnaligned(fromByteOffset: place, as: SIMD4<UInt64>.self)
                if isAnySpecial(in: words) { break }
                (target + place).copyMemory(from: source + place, byteCount: 32)
                place += 32
            }
        }
        while place < text.count {
            let byte = text[place]
            place += 1
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                bytes.take(place - 1 - start)
                return byte
            }
            target.storeBytes(of: byte, toByteOffset: place - 1, as: UInt8.self)
        }
        bytes.take(place - start)
        return nil
    }

    @inline(__always)
    private static func appendEscape(of byte: UInt8, to bytes: inout JSONMemory<UInt8>) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0..<0x20:
            let digits: StaticString = "0123456789abcdef"
            for letter in [UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")] { bytes.append(letter) }
            bytes.append(digits.utf8Start[Int(byte >> 4)])
            bytes.append(digits.utf8Start[Int(byte & 15)])
        default: bytes.append(byte)
        }
    }
}
