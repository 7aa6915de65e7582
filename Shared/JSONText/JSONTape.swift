/// A JSON text (RFC 8259) that was read once: what kind each value is and where it stands, in the order of the text.
///
/// Nothing is copied: a value is made of its bytes when somebody asks for it.
package struct JSONTape: Sendable {
    /// What a value is.
    package enum Kind: UInt8, Sendable {
        case null, `false`, `true`, number, array, object
        /// A string whose bytes are its characters.
        case string
        /// A string with escapes.
        case escapedString
    }

    /// A value.
    ///
    /// An object is followed by its members, each a string and a value; an array by its elements.
    package struct Token: Sendable {
        /// What it is.
        package let kind: Kind
        /// Where it begins: a byte of the text; of a string, the one behind the quotation mark.
        package fileprivate(set) var start: Int32
        /// Behind its last byte; of a string, the quotation mark.
        package fileprivate(set) var end: Int32
        /// The token behind it and all that is inside it.
        package fileprivate(set) var next: Int32

        init(_ kind: Kind, start: Int, end: Int, next: Int) {
            self.kind = kind
            self.start = Int32(truncatingIfNeeded: start)
            self.end = Int32(truncatingIfNeeded: end)
            self.next = Int32(truncatingIfNeeded: next)
        }

        /// Says where a container ends, once that is known.
        mutating func close(end: Int, next: Int) {
            self.end = Int32(truncatingIfNeeded: end)
            self.next = Int32(truncatingIfNeeded: next)
        }
    }

    /// What a text must keep to besides the grammar.
    package struct Rules: Sendable {
        /// How deep objects and arrays may nest; the outermost is the first.
        package var nestingDepthMaximum: Int
        /// Whether `\u0000` may stand in a string; PostgreSQL cannot keep it in a text.
        package var allowsNUL: Bool

        package init(nestingDepthMaximum: Int, allowsNUL: Bool) {
            self.nestingDepthMaximum = nestingDepthMaximum
            self.allowsNUL = allowsNUL
        }
    }

    /// Characters of a number; the longest that Apple writes has 18, and a double needs no more than 25.
    package static let numberLengthMaximum = 64
    /// The longest text; places are 32 bits.
    package static let bytesMaximum = 1 << 30

    /// The text.
    package let bytes: [UInt8]
    /// The values; the first is the whole text's.
    package let tokens: [Token]

    /// Reads a text that is one value and nothing else.
    package init(_ bytes: [UInt8], rules: Rules) throws(JSONFault) {
        guard bytes.count <= Self.bytesMaximum else { throw JSONFault("longer than \(Self.bytesMaximum) bytes") }
        self.bytes = bytes
        tokens = try JSONTapeScanner.tokens(of: bytes, rules: rules)
    }

    /// The bytes of a value as they are written; of a string, without the quotation marks.
    package func raw(_ index: Int) -> ArraySlice<UInt8> {
        let token = tokens[index]
        return bytes[Int(token.start)..<Int(token.end)]
    }

    /// The first token inside a container, and the one behind its last.
    package func content(of index: Int) -> Range<Int> {
        (index + 1)..<Int(tokens[index].next)
    }

    /// The token behind a value.
    package func next(after index: Int) -> Int {
        Int(tokens[index].next)
    }

    /// The value of an object's member, the first of that name; nil where there is none.
    package func member(_ name: String, of object: Int) -> Int? {
        member(name, of: object, from: object + 1)
    }

    /// As ``member(_:of:)``, beginning at a member: who asks in the order of the text finds each at once.
    package func member(_ name: String, of object: Int, from start: Int) -> Int? {
        let (first, end) = (object + 1, Int(tokens[object].next))
        var name = name
        return name.withUTF8 { name in
            var index = start
            while index < end {
                if isName(index, name) { return index + 1 }
                index = Int(tokens[index + 1].next)
            }
            index = first
            while index < start {
                if isName(index, name) { return index + 1 }
                index = Int(tokens[index + 1].next)
            }
            return nil
        }
    }

    private func isName(_ index: Int, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        let token = tokens[index]
        guard token.kind == .string else { return Array(string(index).utf8).elementsEqual(name) }
        guard token.end - token.start == name.count else { return false }
        return bytes.withUnsafeBufferPointer { bytes in
            UnsafeBufferPointer(rebasing: bytes[Int(token.start)..<Int(token.end)]).elementsEqual(name)
        }
    }

    /// A string's characters; the token must be one.
    package func string(_ index: Int) -> String {
        let token = tokens[index]
        let range = Int(token.start)..<Int(token.end)
        return bytes.withUnsafeBufferPointer { bytes in
            let text = UnsafeBufferPointer(rebasing: bytes[range])
            return token.kind == .escapedString ? JSONEscapes.resolved(text) : String(decoding: text, as: UTF8.self)
        }
    }

    /// A number without fraction and exponent that fits; nil for any other value.
    package func integer(_ index: Int) -> Int64? {
        let token = tokens[index]
        guard token.kind == .number else { return nil }
        var place = Int(token.start)
        let end = Int(token.end)
        let isNegative = bytes[place] == UInt8(ascii: "-")
        if isNegative { place += 1 }
        // Eighteen digits always fit.
        guard end - place <= 18 else { return Int64(String(decoding: raw(index), as: UTF8.self)) }
        var value: Int64 = 0
        while place < end {
            let digit = bytes[place] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            value = value * 10 + Int64(digit)
            place += 1
        }
        return isNegative ? -value : value
    }

    /// A number, always finite; nil for any other value.
    package func number(_ index: Int) -> Double? {
        guard tokens[index].kind == .number else { return nil }
        return Double(String(decoding: raw(index), as: UTF8.self))
    }
}
