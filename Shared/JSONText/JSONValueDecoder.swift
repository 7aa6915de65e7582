import Foundation

/// One value, to be read as whatever is asked for.
///
/// It is made for what has parts, or a type of its own; a container reads everything else where it stands. It knows who
/// holds it: the way there is wanted only when something is wrong.
final class JSONValueDecoder: Decoder {
    /// Its token.
    let index: Int
    /// The container that it stands in, and its place in there; nil of the whole text.
    private let holder: JSONValueDecoder?
    private let key: (any CodingKey)?
    let input: JSONInput
    /// The input's, which keeps it alive: to hold it so costs no counting of references for each value that is read.
    private let tape: Unmanaged<JSONTape>
    // What these two hold is made and read in ``member(_:)`` alone, so there is nothing to check at run time.
    @exclusivity(unchecked) private var members: JSONMemberIndex?
    @exclusivity(unchecked) private var hasLooked = false

    init(_ input: JSONInput, index: Int, holder: JSONValueDecoder?, key: (any CodingKey)?) {
        self.input = input
        self.index = index
        self.holder = holder
        self.key = key
        tape = .passUnretained(input.tape)
    }

    var codingPath: [any CodingKey] {
        var keys: [any CodingKey] = []
        var decoder = self
        while let key = decoder.key {
            keys.append(key)
            guard let holder = decoder.holder else { break }
            decoder = holder
        }
        return keys.reversed()
    }

    var userInfo: [CodingUserInfoKey: Any] { [:] }
    var kind: JSONTape.Kind { kind(of: index) }

    /// Hands out the text, without a reference that is counted.
    @inline(__always)
    func withTape<Result>(_ body: (JSONTape) throws -> Result) rethrows -> Result {
        // The compiler may let go of a decoder that nobody uses any more: not before the text was read.
        try withExtendedLifetime(self) { try tape._withUnsafeGuaranteedRef(body) }
    }

    /// What a value of the text is.
    @inline(__always)
    func kind(of index: Int) -> JSONTape.Kind { withTape { $0.kind(of: index) } }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard kind == .object else { throw mismatch([String: Any].self) }
        return KeyedDecodingContainer(JSONMembersReader<Key>(object: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard kind == .array else { throw mismatch([Any].self) }
        return JSONElementsReader(array: self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        self
    }

    /// The first value of an object that has this name; nil where there is none.
    func member(_ name: String) -> Int? {
        if !hasLooked {
            hasLooked = true
            members = withTape { JSONMemberIndex(index, of: $0) }
        }
        guard let members else { return withTape { $0.member(name, of: index) } }
        return withTape { members.value(name, in: $0) }
    }

    /// A value that this one holds.
    func part(_ index: Int, _ key: any CodingKey) -> JSONValueDecoder {
        JSONValueDecoder(input, index: index, holder: self, key: key)
    }

    // What is wrong with it.

    /// Why it is no such value; the type is one of those that have no parts.
    func fault(_ type: Any.Type) -> DecodingError {
        switch type {
        case is Date.Type: isString ? corrupted("not a date") : mismatch(String.self)
        case is String.Type, is Bool.Type, is Double.Type: mismatch(type)
        case is Float.Type: kind == .number ? corrupted("a number that does not fit") : mismatch(Double.self)
        default: kind == .number ? corrupted("a number that does not fit") : mismatch(type)
        }
    }

    private var isString: Bool { kind == .string || kind == .escapedString }

    private func mismatch(_ type: Any.Type) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "found \(kind) instead")
        return kind == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    private func corrupted(_ description: String) -> DecodingError {
        .dataCorrupted(.init(codingPath: codingPath, debugDescription: description))
    }
}
