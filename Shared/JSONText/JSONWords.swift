/// Looks at bytes eight at a time.
enum JSONWords {
    /// Whether the same bytes stand in a text, from a place on.
    ///
    /// - Parameter start: at least `other.count` bytes follow it.
    @inline(__always)
    static func isEqual(_ text: UnsafePointer<UInt8>?, at start: Int, _ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let text, let base = other.baseAddress else { return other.isEmpty }
        return isEqual(UnsafeRawPointer(text + start), UnsafeRawPointer(base), count: other.count)
    }

    /// Whether two places hold the same bytes; the last words overlap the ones before them.
    @inline(__always)
    private static func isEqual(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer, count: Int) -> Bool {
        guard count >= 8 else {
            for place in 0..<count
            where left.load(fromByteOffset: place, as: UInt8.self)
                != right.load(fromByteOffset: place, as: UInt8.self)
            {
                return false
            }
            return true
        }
        var place = 0
        while place + 8 < count {
            if word(left, place) != word(right, place) { return false }
            place += 8
        }
        return word(left, count - 8) == word(right, count - 8)
    }

    @inline(__always)
    private static func word(_ base: UnsafeRawPointer, _ place: Int) -> UInt64 {
        base.loadUnaligned(fromByteOffset: place, as: UInt64.self)
    }

    /// Below zero where the first bytes sort before the others, above where they sort behind them, zero for the same bytes.
    static func order(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Int {
        let count = min(left.count, right.count)
        guard let first = UnsafeRawPointer(left.baseAddress), let second = UnsafeRawPointer(right.baseAddress) else {
            return left.count - right.count
        }
        var place = 0
        while place + 8 <= count {
            let (one, other) = (UInt64(bigEndian: word(first, place)), UInt64(bigEndian: word(second, place)))
            if one != other { return one < other ? -1 : 1 }
            place += 8
        }
        while place < count {
            if left[place] != right[place] { return left[place] < right[place] ? -1 : 1 }
            place += 1
        }
        return left.count - right.count
    }

    /// The first eight bytes as a number that sorts as they do; zeros stand for bytes that are missing.
    @inline(__always)
    static func prefix(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
        if bytes.count >= 8, let base = UnsafeRawPointer(bytes.baseAddress) { return UInt64(bigEndian: word(base, 0)) }
        var value: UInt64 = 0
        for byte in bytes { value = value << 8 | UInt64(byte) }
        return bytes.isEmpty ? 0 : value << (64 - 8 * UInt64(bytes.count))
    }

    /// A number that two texts rarely share.
    @inline(__always)
    static func mark(_ text: UnsafeBufferPointer<UInt8>) -> UInt32 {
        var mixed = prefix(text) &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(text.count)
        if text.count > 8, let base = UnsafeRawPointer(text.baseAddress) {
            mixed = (mixed ^ word(base, text.count - 8)) &* 0x9E37_79B9_7F4A_7C15
        }
        return UInt32(truncatingIfNeeded: mixed >> 32)
    }
}
