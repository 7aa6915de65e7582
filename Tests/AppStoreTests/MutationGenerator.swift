import AppStore
import Crypto
import Foundation

@testable import AppStoreSimulator

/// Makes mutants: the same changes each time, since a seed decides; the simulator's keys are new each time.
///
/// What follows in other files adds one family of mutants each.
struct MutationGenerator {
    /// Any number will do; another one makes other mutants.
    static let seed: UInt64 = 0xC0FFEE

    let store: SimulatedStore
    let bases: [MutationBase]
    var random = SeededGenerator(seed: Self.seed)
    private(set) var mutants: [Mutant] = []

    init(store: SimulatedStore, bases: [MutationBase]) {
        self.store = store
        self.bases = bases
    }

    /// Every mutant of every family.
    static func all(_ store: SimulatedStore) throws -> [Mutant] {
        let bases = try MutationBase.genuine() + MutationBase.simulated(store)
        var generator = MutationGenerator(store: store, bases: bases)
        var spelled: Set<MutationBase.Kind> = []
        for base in bases {
            generator.addUntouched(base)
            generator.addText(base)
            // Apple spells all of a kind alike: one is enough.
            if base.isSimulated || spelled.insert(base.kind).inserted { generator.addSpellings(base) }
            try generator.addSignatures(base)
        }
        try generator.addSplices()
        try generator.addCertificates()
        try generator.addChains()
        try generator.addValidity()
        try generator.addHeaders()
        for base in bases where base.isSimulated {
            try generator.addFields(base)
            try generator.addJSON(base)
            try generator.addJSONBytes(base)
        }
        try generator.addNested()
        return generator.mutants
    }

    mutating func add(
        _ base: MutationBase, _ family: Mutant.Family, _ what: String, _ jws: [UInt8],
        as kind: MutationBase.Kind? = nil
    ) {
        mutants.append(Mutant(base, family, what, jws, as: kind))
    }

    mutating func add(_ base: MutationBase, _ family: Mutant.Family, _ what: String, _ jws: String) {
        add(base, family, what, Array(jws.utf8))
    }

    /// The good payload, taken for what it is and for everything else.
    private mutating func addUntouched(_ base: MutationBase) {
        for kind in MutationBase.Kind.allCases {
            add(base, kind == base.kind ? .untouched : .otherKind, "taken for \(kind)", base.jws, as: kind)
        }
    }

    // MARK: Signing anew

    /// A simulated base: its place in the list is by name.
    func base(_ name: String) throws -> MutationBase {
        guard let base = bases.first(where: { $0.isSimulated && $0.name == name }) else {
            throw CocoaError(.coderValueNotFound)
        }
        return base
    }

    /// Another payload under the good header, signed by the leaf.
    func signed(_ base: MutationBase, payload: [UInt8]) throws -> [UInt8] {
        try signed(header: base.parts[0], payload: Base64URL.encode(payload))
    }

    func signed(_ base: MutationBase, payload: String) throws -> [UInt8] {
        try signed(base, payload: Array(payload.utf8))
    }

    /// The good payload under another header, signed by the leaf.
    func signed(_ base: MutationBase, header: [UInt8]) throws -> [UInt8] {
        try signed(header: Base64URL.encode(header), payload: base.parts[1])
    }

    /// Two parts as they are written, signed by the leaf, or by another key.
    func signed(header: String, payload: String, key: P256.Signing.PrivateKey? = nil) throws -> [UInt8] {
        let input = Array("\(header).\(payload)".utf8)
        let signature = try (key ?? store.authority.leafKey).signature(for: SHA256.hash(data: input))
        return input + [UInt8(ascii: ".")] + Array(Base64URL.encode([UInt8](signature.rawRepresentation)).utf8)
    }

    /// A header with these certificates, each as it is written.
    static func header(x5c: [String]) -> [UInt8] {
        Array("{\"alg\":\"ES256\",\"x5c\":[\(x5c.map { "\"\($0)\"" }.joined(separator: ","))]}".utf8)
    }
}

/// A change of one byte.
enum ByteChange: CaseIterable {
    case flipBit
    /// Another letter of base64url.
    case letter
    case anyByte
    case insertLetter
    case insertAnyByte
    case remove

    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The bytes with one changed; the change always changes something.
    func applied(to bytes: [UInt8], at position: Int, _ random: inout SeededGenerator) -> [UInt8] {
        var changed = bytes
        switch self {
        case .flipBit: changed[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case .letter:
            let others = Self.letters.filter { $0 != bytes[position] }
            changed[position] = others[Int.random(in: 0..<others.count, using: &random)]
        case .anyByte: changed[position] ^= UInt8.random(in: 1...255, using: &random)
        case .insertLetter:
            changed.insert(Self.letters[Int.random(in: 0..<Self.letters.count, using: &random)], at: position)
        case .insertAnyByte: changed.insert(UInt8.random(in: 0...255, using: &random), at: position)
        case .remove: changed.remove(at: position)
        }
        return changed
    }
}
