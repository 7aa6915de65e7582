/// A JSON text (RFC 8259) that was read once: what kind each value is and where it stands, in the order of the text.
///
/// Nothing is copied: a value is made of its bytes when somebody asks for it.
///
/// It is a class because decoders and containers hold it: each copy of them then counts one reference, and not two arrays.
// Safety: all it has is immutable; the memory of its tokens is its own, was written before there was a tape, and is freed
// with it.
package final class JSONTape: @unchecked Sendable {
    /// What a value is.
    package enum Kind: UInt8, Sendable, BitwiseCopyable {
        case null, `false`, `true`, number, array, object
        /// A string whose bytes are its characters.
        case string
        /// A string with escapes.
        case escapedString
        /// What the grammar allows and no limit does: see ``Rules/keepsUnreadable``.
        case unreadable
    }

    /// A value.
    ///
    /// An object is followed by its members, each a string and a value; an array by its elements.
    struct Token: Sendable, BitwiseCopyable {
        /// What it is.
        let kind: Kind
        /// Where it begins: a byte of the text; of a string, the one behind the quotation mark.
        fileprivate(set) var start: Int32
        /// Behind its last byte; of a string, the quotation mark.
        fileprivate(set) var end: Int32
        /// The token behind it and all that is inside it.
        fileprivate(set) var next: Int32

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
        /// Whether a value beyond the limits becomes an unreadable one, and the text is read nevertheless: a number that is too long,
        /// too large or too small, a string with NUL or half a surrogate pair, what nests too deep.
        package var keepsUnreadable: Bool

        package init(nestingDepthMaximum: Int, allowsNUL: Bool, keepsUnreadable: Bool = false) {
            self.nestingDepthMaximum = nestingDepthMaximum
            self.allowsNUL = allowsNUL
            self.keepsUnreadable = keepsUnreadable
        }
    }

    /// Characters of a number; the longest that Apple writes has 18, and a double needs no more than 25.
    package static let numberLengthMaximum = 64
    /// The longest text; places are 32 bits.
    package static let bytesMaximum = 1 << 30

    /// The text.
    package let bytes: [UInt8]
    /// The values; the first is the whole text's.
    private let tokens: JSONMemory<Token>

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

    /// What a value is.
    package func kind(of index: Int) -> Kind {
        tokens[index].kind
    }

    /// The value of an object's member, the first of that name; nil where there is none.
    package func member(_ name: String, of object: Int) -> Int? {
        member(name, of: object, from: object + 1)
    }

    /// As ``member(_:of:)``, beginning at a member: who asks in the order of the text finds each at once.
    package func member(_ name: String, of object: Int, from start: Int) -> Int? {
        let content = content(of: object)
        precondition(content.lowerBound <= start && start <= content.upperBound && content.upperBound <= tokens.count)
        var name = name
        return name.withUTF8 {
            value(named: $0, start, content.upperBound) ?? value(named: $0, content.lowerBound, start)
        }
    }

    /// ``JSONWords/mark(_:)`` of a name.
    @inline(__always)
    func nameMark(_ index: Int) -> UInt32 {
        let token = tokens[index]
        guard token.kind == .string else { return meaningMark(token) }
        return withText(token) { JSONWords.mark($0) }
    }

    @inline(never)
    private func meaningMark(_ token: Token) -> UInt32 {
        var name = string(token)
        return name.withUTF8 { JSONWords.mark($0) }
    }

    /// Whether a token is a name of these characters.
    @inline(__always)
    func isName(_ index: Int, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        isName(tokens[index], name)
    }

    /// The value of the first member of that name, of those whose tokens are in `start..<end`.
    private func value(named name: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int) -> Int? {
        var index = start
        // No name is read but where a value follows it, so that neither stands outside of the object.
        while index + 1 < end {
            if isName(tokens.base[index], name) { return index + 1 }
            // Most values have no parts: then the processor need not wait to learn where the next one is.
            let kind = tokens.base[index + 1].kind
            index = kind == .object || kind == .array ? next(afterParts: index + 1) : index + 2
        }
        return nil
    }

    /// As ``next(after:)``; a call, because a processor guesses where one is needed, and waits for a choice of two values.
    @inline(never)
    private func next(afterParts index: Int) -> Int {
        Int(tokens[index].next)
    }

    @inline(__always)
    private func isName(_ token: Token, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        if token.kind == .string {
            return Int(token.end &- token.start) == name.count && isText(of: token, name)
        }
        return isMeaning(of: token, name)
    }

    @inline(__always)
    private func isText(of token: Token, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.withUnsafeBufferPointer { JSONWords.isEqual($0.baseAddress, at: Int(token.start), name) }
    }

    @inline(never)
    private func isMeaning(of token: Token, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        string(token).utf8.elementsEqual(name)
    }

    /// A string's characters; the token must be one.
    package func string(_ index: Int) -> String {
        string(tokens[index])
    }

    private func string(_ token: Token) -> String {
        withText(token) {
            token.kind == .escapedString ? JSONEscapes.resolved($0) : String(decoding: $0, as: UTF8.self)
        }
    }

    /// Hands out what ``raw(_:)`` is, without a reference that is counted.
    @inline(__always)
    func withText<Result>(_ index: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        withText(tokens[index], body)
    }

    @inline(__always)
    private func withText<Result>(_ token: Token, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        let range = Int(token.start)..<Int(token.end)
        return bytes.withUnsafeBufferPointer {
            precondition(range.upperBound <= $0.count)
            return body(UnsafeBufferPointer(rebasing: $0[range]))
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
