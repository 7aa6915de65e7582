import Foundation

/// Walks over a `SET OF SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`, of which a receipt consists
/// (archived "Receipt Validation Programming Guide", chapter "Receipt Fields").
struct ReceiptAttributeWalk {
    /// One attribute, whose value lies somewhere in the receipt.
    struct Entry {
        let type: Int64
        let version: Int64
        let value: Range<Int>
    }

    private var walk: DERWalk

    /// - Parameter range: the whole SET; what is not a single SET has no attributes that can be read.
    init(_ bytes: [UInt8], in range: Range<Int>) throws(SignedDataRejection) {
        var outer = DERWalk(bytes, in: range)
        guard let set = outer.enter(DERWalk.Tag.set), outer.isAtEnd else {
            throw SignedDataRejection(.payloadInvalid, "not a set of attributes")
        }
        walk = set
    }

    /// The next attribute; nil at the end.
    mutating func next() throws(SignedDataRejection) -> Entry? {
        guard !walk.isAtEnd else { return nil }
        guard var attribute = walk.enter(DERWalk.Tag.sequence),
            let type = attribute.next(DERWalk.Tag.integer), let version = attribute.next(DERWalk.Tag.integer),
            let value = attribute.next(DERWalk.Tag.octetString), attribute.isAtEnd,
            let typeNumber = DERWalk.integer(walk.bytes, type.content),
            let versionNumber = DERWalk.integer(walk.bytes, version.content)
        else { throw SignedDataRejection(.payloadInvalid, "an attribute cannot be read") }
        return Entry(type: typeNumber, version: versionNumber, value: value.content)
    }
}

/// Reads the values of attributes, by type.
///
/// As with signed payloads (``PayloadFields``): what matters to who bought what is read strictly; any other value that
/// cannot be read is left out, and its number noted in ``unreadable``.
struct ReceiptValues {
    private let bytes: [UInt8]
    /// Which of the known attributes have been read, by their last two digits: none may be there twice.
    private var seen: UInt64 = 0
    private(set) var unreadable: [Int64] = []

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Notes that an attribute is there; what it means would be anyone's choice if it were there twice.
    mutating func note(_ entry: ReceiptAttributeWalk.Entry) throws(SignedDataRejection) {
        let bit: UInt64 = 1 << UInt64(entry.type % 100 & 63)
        guard seen & bit == 0 else {
            throw SignedDataRejection(.fieldInvalid, "attribute \(entry.type) is there twice")
        }
        seen |= bit
    }

    /// A text; nil when it is empty, which is how receipts write that there is none.
    func strictText(_ entry: ReceiptAttributeWalk.Entry) throws(SignedDataRejection) -> String? {
        guard let content = textContent(entry), let text = String(validating: bytes[content], as: UTF8.self) else {
            throw Self.invalid(entry)
        }
        return text.isEmpty ? nil : text
    }

    /// A date; nil when it is empty.
    func strictDate(_ entry: ReceiptAttributeWalk.Entry) throws(SignedDataRejection) -> Date? {
        guard let content = textContent(entry) else { throw Self.invalid(entry) }
        if content.isEmpty { return nil }
        guard let date = ReceiptDate.date(bytes[content]) else { throw Self.invalid(entry) }
        return date
    }

    func strictInteger(
        _ entry: ReceiptAttributeWalk.Entry, in range: ClosedRange<Int64>
    ) throws(SignedDataRejection) -> Int64 {
        guard let number = number(entry), range.contains(number) else { throw Self.invalid(entry) }
        return number
    }

    mutating func text(_ entry: ReceiptAttributeWalk.Entry) -> String? {
        guard let content = textContent(entry), let text = String(validating: bytes[content], as: UTF8.self) else {
            unreadable.append(entry.type)
            return nil
        }
        return text.isEmpty ? nil : text
    }

    mutating func date(_ entry: ReceiptAttributeWalk.Entry) -> Date? {
        guard let content = textContent(entry) else {
            unreadable.append(entry.type)
            return nil
        }
        if content.isEmpty { return nil }
        guard let date = ReceiptDate.date(bytes[content]) else {
            unreadable.append(entry.type)
            return nil
        }
        return date
    }

    mutating func integer(_ entry: ReceiptAttributeWalk.Entry) -> Int64? {
        guard let number = number(entry) else {
            unreadable.append(entry.type)
            return nil
        }
        return number
    }

    /// A number of which 1 means yes and 0 no.
    mutating func flag(_ entry: ReceiptAttributeWalk.Entry) -> Bool? {
        guard let number = number(entry), number == 0 || number == 1 else {
            unreadable.append(entry.type)
            return nil
        }
        return number == 1
    }

    /// The bytes of a value that is exactly one text.
    private func textContent(_ entry: ReceiptAttributeWalk.Entry) -> Range<Int>? {
        var walk = DERWalk(bytes, in: entry.value)
        guard let element = walk.next(), walk.isAtEnd else { return nil }
        switch element.tag {
        case DERWalk.Tag.utf8, DERWalk.Tag.ia5, DERWalk.Tag.printable: return element.content
        default: return nil
        }
    }

    private func number(_ entry: ReceiptAttributeWalk.Entry) -> Int64? {
        var walk = DERWalk(bytes, in: entry.value)
        guard let element = walk.next(DERWalk.Tag.integer), walk.isAtEnd else { return nil }
        return DERWalk.integer(bytes, element.content)
    }

    private static func invalid(_ entry: ReceiptAttributeWalk.Entry) -> SignedDataRejection {
        SignedDataRejection(.fieldInvalid, "attribute \(entry.type) cannot be read")
    }
}
