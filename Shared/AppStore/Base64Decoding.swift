/// The two alphabets of RFC 4648 that signed data uses, each decoded by a table in one pass over bytes.
///
/// Decoding is strict, so that one value has one spelling: no white space, no missing or superfluous padding, and zero
/// bits behind the last byte.
package enum Base64Decoding {
    /// Decodes base64url without padding, as the parts of a JWS are written; nil when it is anything else.
    package static func urlSafe(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        decode(text, table: urlSafeTable)
    }

    /// Decodes base64 with padding, as `x5c` is written (RFC 7515, section 4.1.6); nil when it is anything else.
    static func padded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        let padding = text.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        return decode(text.dropLast(padding), table: standardTable)
    }

    private static let invalid: UInt8 = 0xFF
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    private static let urlSafeTable = table(letters + Array("-_".utf8))
    private static let standardTable = table(letters + Array("+/".utf8))

    private static func table(_ alphabet: [UInt8]) -> [UInt8] {
        var table = [UInt8](repeating: invalid, count: 256)
        for (value, letter) in alphabet.enumerated() { table[Int(letter)] = UInt8(value) }
        return table
    }

    private static func decode(_ text: ArraySlice<UInt8>, table: [UInt8]) -> [UInt8]? {
        let tail = text.count % 4
        guard tail != 1 else { return nil }
        let decodedCount = text.count / 4 * 3 + (tail == 0 ? 0 : tail - 1)
        var isValid = true
        let decoded = text.withUnsafeBufferPointer { source in
            table.withUnsafeBufferPointer { table in
                [UInt8](unsafeUninitializedCapacity: decodedCount) { target, count in
                    isValid = decode(source, table: table, into: target)
                    count = isValid ? decodedCount : 0
                }
            }
        }
        return isValid ? decoded : nil
    }

    private static func decode(
        _ source: UnsafeBufferPointer<UInt8>, table: UnsafeBufferPointer<UInt8>,
        into target: UnsafeMutableBufferPointer<UInt8>
    ) -> Bool {
        // Values are below 64, so the high bit of what is collected here says whether any letter was invalid.
        var seen: UInt8 = 0
        var read = 0
        var written = 0
        while read + 4 <= source.count {
            let first = table[Int(source[read])]
            let second = table[Int(source[read + 1])]
            let third = table[Int(source[read + 2])]
            let fourth = table[Int(source[read + 3])]
            seen |= first | second | third | fourth
            target[written] = first << 2 | second >> 4
            target[written + 1] = second << 4 | third >> 2
            target[written + 2] = third << 6 | fourth
            read += 4
            written += 3
        }
        let tail = source.count - read
        if tail >= 2 {
            let first = table[Int(source[read])]
            let second = table[Int(source[read + 1])]
            let third = tail == 3 ? table[Int(source[read + 2])] : 0
            seen |= first | second | third
            target[written] = first << 2 | second >> 4
            if tail == 3 { target[written + 1] = second << 4 | third >> 2 }
            let unusedBits = tail == 3 ? third & 0b11 : second & 0b1111
            guard unusedBits == 0 else { return false }
        }
        return seen & 0x80 == 0
    }
}
