/// Writes what a receipt consists of, a `SET OF SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }` in DER.
///
/// Bytes at once, because a receipt can have thousands of purchases with twenty attributes each.
struct AttributeSet {
    /// What an attribute's value is in ASN.1.
    enum Value {
        case utf8(String)
        case ia5(String)
        case integer(Int64)
        /// Bytes as they are: no ASN.1, or ASN.1 already.
        case raw([UInt8])
    }

    private typealias Tag = DERCursor.Tag

    private var bytes: [UInt8] = []
    private var attributes: [Range<Int>] = []

    /// - Parameter capacity: about how many bytes it will have.
    init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    mutating func add(_ type: Int64, version: Int64 = 1, _ value: Value) {
        let start = bytes.count
        let value = Self.encoded(value)
        var head: [UInt8] = []
        Self.append(Tag.integer, Self.integerBytes(type), to: &head)
        Self.append(Tag.integer, Self.integerBytes(version), to: &head)
        head.append(Tag.octetString)
        Self.appendLength(value.count, to: &head)
        bytes.append(Tag.sequence)
        Self.appendLength(head.count + value.count, to: &bytes)
        bytes.append(contentsOf: head)
        bytes.append(contentsOf: value)
        attributes.append(start..<bytes.count)
    }

    /// The set in DER: its members in the order of their bytes (X.690, section 11.6), which is Apple's order too.
    func encoded() -> [UInt8] {
        let sorted = attributes.sorted { bytes[$0].lexicographicallyPrecedes(bytes[$1]) }
        var set: [UInt8] = []
        set.reserveCapacity(bytes.count + 6)
        set.append(Tag.set)
        Self.appendLength(bytes.count, to: &set)
        for attribute in sorted { set.append(contentsOf: bytes[attribute]) }
        return set
    }

    /// A value as it stands in an attribute.
    static func encoded(_ value: Value) -> [UInt8] {
        var encoded: [UInt8] = []
        switch value {
        case .utf8(let text): append(Tag.utf8, Array(text.utf8), to: &encoded)
        case .ia5(let text): append(Tag.ia5, Array(text.utf8), to: &encoded)
        case .integer(let number): append(Tag.integer, integerBytes(number), to: &encoded)
        case .raw(let raw): return raw
        }
        return encoded
    }

    private static func append(_ tag: UInt8, _ content: [UInt8], to bytes: inout [UInt8]) {
        bytes.append(tag)
        appendLength(content.count, to: &bytes)
        bytes.append(contentsOf: content)
    }

    private static func appendLength(_ count: Int, to bytes: inout [UInt8]) {
        guard count > 0x7F else {
            bytes.append(UInt8(count))
            return
        }
        let size = (Int.bitWidth - count.leadingZeroBitCount + 7) / 8
        bytes.append(0x80 | UInt8(size))
        for index in (0..<size).reversed() { bytes.append(UInt8(truncatingIfNeeded: count >> (8 * index))) }
    }

    /// Two's complement, as short as possible.
    private static func integerBytes(_ number: Int64) -> [UInt8] {
        let magnitude = number < 0 ? ~number : number
        let size = max(1, (Int64.bitWidth - magnitude.leadingZeroBitCount) / 8 + 1)
        return (0..<size).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * Int64($0))) }
    }
}
