/// Walks over values in DER, one after the other, without copying; receipts can be megabytes of small values.
///
/// Strict as X.690, section 10, is: lengths are definite and as short as possible. Tags have one byte, since receipts
/// have no others. Anything else ends the walk.
struct DERWalk {
    /// A value: its tag, and where in the bytes it lies.
    struct Element {
        let tag: UInt8
        /// With tag and length.
        let whole: Range<Int>
        let content: Range<Int>
    }

    /// Tags that receipts consist of.
    enum Tag {
        static let integer: UInt8 = 0x02
        static let bitString: UInt8 = 0x03
        static let octetString: UInt8 = 0x04
        static let null: UInt8 = 0x05
        static let objectIdentifier: UInt8 = 0x06
        static let utf8: UInt8 = 0x0C
        static let printable: UInt8 = 0x13
        static let ia5: UInt8 = 0x16
        static let sequence: UInt8 = 0x30
        static let set: UInt8 = 0x31
        /// `[0]`, constructed.
        static let context0: UInt8 = 0xA0
        /// `[1]`, constructed.
        static let context1: UInt8 = 0xA1
    }

    private enum Limit {
        /// Bytes of a length: more than four would be more than 4 GiB.
        static let lengthBytes = 4
    }

    let bytes: [UInt8]
    private var position: Int
    private let end: Int

    init(_ bytes: [UInt8]) {
        self.init(bytes, in: bytes.indices)
    }

    /// - Parameter range: lies within the bytes.
    init(_ bytes: [UInt8], in range: Range<Int>) {
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    var isAtEnd: Bool { position == end }

    /// The tag of the next value; nil at the end.
    var nextTag: UInt8? { isAtEnd ? nil : bytes[position] }

    /// The next value; nil at the end, or when there is none that can be read.
    mutating func next() -> Element? {
        guard end - position >= 2 else { return nil }
        let start = position
        let tag = bytes[start]
        guard tag & 0x1F != 0x1F else { return nil }
        var index = start + 2
        var length = Int(bytes[start + 1])
        if length > 0x7F {
            let size = length & 0x7F
            guard (1...Limit.lengthBytes).contains(size), end - index >= size else { return nil }
            length = 0
            for _ in 0..<size {
                length = length << 8 | Int(bytes[index])
                index += 1
            }
            guard length > 0x7F, length >> (8 * (size - 1)) != 0 else { return nil }
        }
        guard end - index >= length else { return nil }
        position = index + length
        return Element(tag: tag, whole: start..<position, content: index..<position)
    }

    /// The next value if it has this tag.
    mutating func next(_ tag: UInt8) -> Element? {
        guard nextTag == tag else { return nil }
        return next()
    }

    /// Walks over what is inside the next value, if it has this tag.
    mutating func enter(_ tag: UInt8) -> DERWalk? {
        next(tag).map { DERWalk(bytes, in: $0.content) }
    }

    /// The number that an INTEGER's content is; nil when it does not fit or is longer than need be.
    @inline(__always)
    static func integer(_ bytes: [UInt8], _ content: Range<Int>) -> Int64? {
        guard (1...8).contains(content.count) else { return nil }
        let first = bytes[content.lowerBound]
        if content.count > 1 {
            let second = bytes[content.lowerBound + 1]
            guard !(first == 0 && second < 0x80), !(first == 0xFF && second >= 0x80) else { return nil }
        }
        var number: Int64 = first & 0x80 == 0 ? 0 : -1
        for index in content { number = number << 8 | Int64(bytes[index]) }
        return number
    }

    /// Whether two ranges hold the same bytes.
    @inline(never)  // wrong code
    static func areEqual(_ first: ArraySlice<UInt8>, _ second: ArraySlice<UInt8>) -> Bool {
        first.elementsEqual(second)
    }
}
