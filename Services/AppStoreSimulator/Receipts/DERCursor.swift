/// Walks over DER, one value after the other, without copying; for receipts, which can be megabytes of small values.
///
/// Knows what receipts consist of: tags of one byte and definite lengths. Anything else ends the walk.
struct DERCursor {
    /// A value: its tag, and where in the bytes it lies.
    struct Element {
        let tag: UInt8
        /// With tag and length.
        let whole: Range<Int>
        let content: Range<Int>
    }

    /// Tags that a reader of receipts looks for.
    enum Tag {
        static let integer: UInt8 = 0x02
        static let octetString: UInt8 = 0x04
        static let objectIdentifier: UInt8 = 0x06
        static let utf8: UInt8 = 0x0C
        static let ia5: UInt8 = 0x16
        static let sequence: UInt8 = 0x30
        static let set: UInt8 = 0x31
        /// `[0]`, constructed.
        static let context: UInt8 = 0xA0
    }

    enum Limit {
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
        }
        guard end - index >= length else { return nil }
        position = index + length
        return Element(tag: tag, whole: start..<position, content: index..<position)
    }

    /// The next value if it has this tag.
    mutating func next(_ tag: UInt8) -> Element? {
        guard let element = next(), element.tag == tag else { return nil }
        return element
    }

    /// Walks over what is inside the next value.
    mutating func enter(_ tag: UInt8) -> DERCursor? {
        next(tag).map { DERCursor(bytes, in: $0.content) }
    }

    /// The number that a value is; nil when it does not fit.
    func integer(_ element: Element) -> Int64? {
        guard element.tag == Tag.integer, (1...8).contains(element.content.count) else { return nil }
        var number: Int64 = bytes[element.content.lowerBound] & 0x80 == 0 ? 0 : -1
        for index in element.content { number = number << 8 | Int64(bytes[index]) }
        return number
    }

    /// The text that a value is; nil when it is no UTF8String or IA5String.
    func text(_ element: Element) -> String? {
        guard element.tag == Tag.utf8 || element.tag == Tag.ia5 else { return nil }
        return String(decoding: bytes[element.content], as: UTF8.self)
    }
}
