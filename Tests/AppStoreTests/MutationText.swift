import AppStore
import Crypto
import Foundation

@testable import AppStoreSimulator

/// Changes of the text that came, by somebody without a key.
extension MutationGenerator {
    private enum Count {
        /// Changes of each sort in each part of each payload.
        static let perPart = 2
        static let cuts = 4
    }

    /// One byte changed: in header, payload, signature, and at each dot.
    mutating func addText(_ base: MutationBase) {
        let parts = base.parts.map(\.utf8.count)
        let firstDot = parts[0]
        let secondDot = firstDot + 1 + parts[1]
        let ranges = [
            ("header", 0..<firstDot), ("payload", (firstDot + 1)..<secondDot),
            ("signature", (secondDot + 1)..<base.jws.count),
        ]
        for (name, range) in ranges {
            for change in ByteChange.allCases {
                for _ in 0..<Count.perPart {
                    let position = Int.random(in: range, using: &random)
                    add(
                        base, .text, "\(name): \(change) at \(position)",
                        change.applied(to: base.jws, at: position, &random))
                }
            }
        }
        for (name, position) in [("first dot", firstDot), ("second dot", secondDot)] {
            for change in ByteChange.allCases {
                add(base, .text, "\(name): \(change)", change.applied(to: base.jws, at: position, &random))
            }
            var doubled = base.jws
            doubled.insert(UInt8(ascii: "."), at: position)
            add(base, .text, "\(name): doubled", doubled)
        }
    }

    /// Cut, lengthened, joined, and base64 spelled in another way.
    mutating func addSpellings(_ base: MutationBase) {
        for _ in 0..<Count.cuts {
            let count = Int.random(in: 0..<base.jws.count, using: &random)
            add(base, .spelling, "cut after \(count) bytes", Array(base.jws.prefix(count)))
        }
        let text = String(decoding: base.jws, as: UTF8.self)
        let parts = base.parts
        for end in [
            "=", "==", "===", "====", " ", "\n", "\r\n", ".", ".e30", "A", "AA", "AAAA", "!", "\u{0}", "\u{E9}",
        ] {
            add(base, .spelling, "\(end.debugDescription) at the end", text + end)
        }
        for start in [" ", "\n", ".", "\u{FEFF}", "Bearer "] {
            add(base, .spelling, "\(start.debugDescription) at the start", start + text)
        }
        for index in 0..<3 {
            for (name, part) in Self.spellings(parts[index]) {
                var changed = parts
                changed[index] = part
                add(base, .spelling, "part \(index): \(name)", changed.joined(separator: "."))
            }
        }
        for order in [
            [1, 0, 2], [0, 2, 1], [0, 0, 2], [0, 1, 1], [0, 1], [1, 2], [0, 1, 2, 2], [0, 1, 2, 0, 1, 2],
        ] {
            add(base, .spelling, "parts \(order)", order.map { parts[$0] }.joined(separator: "."))
        }
    }

    /// One part of base64url in other words that some decoders take for the same.
    private static func spellings(_ part: String) -> [(String, String)] {
        let padding = String(repeating: "=", count: (4 - part.utf8.count % 4) % 4)
        let standard = part.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        let middle = part.utf8.count / 2
        var spellings: [(String, String)] = [("empty", ""), ("percent-encoded", "%\(part)")]
        for (name, character) in [("a line break", "\n"), ("a space", " "), ("padding", "=")] {
            spellings.append(("\(name) within", MutationText.inserting(character, into: part, at: middle)))
        }
        if !padding.isEmpty { spellings.append(("padded", part + padding)) }
        if standard != part { spellings.append(("the other alphabet", standard)) }
        spellings.append(contentsOf: unusedBits(part).map { ("unused bits", $0) })
        return spellings
    }

    /// The same with other bits behind the last byte; there are none when three bytes fill four letters.
    static func unusedBits(_ part: String, alphabet: String = "-_") -> [String] {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\(alphabet)")
        let variants = [2: 16, 3: 4][part.utf8.count % 4] ?? 1
        guard let last = part.last, let value = letters.firstIndex(of: last) else { return [] }
        let first = value / variants * variants
        return (first..<(first + variants)).filter { $0 != value }.prefix(3).map {
            part.dropLast() + String(letters[$0])
        }
    }

    /// Other numbers in the place of r and s; one of them is as good as the old.
    mutating func addSignatures(_ base: MutationBase) throws {
        let parts = base.parts
        guard let raw = MutationText.decoded(parts[2].utf8) else { throw CocoaError(.coderReadCorrupt) }
        let r = Array(raw.prefix(32))
        let s = Array(raw.suffix(32))
        let zero = [UInt8](repeating: 0, count: 32)
        let der = try P256.Signing.ECDSASignature(rawRepresentation: raw).derRepresentation
        let signatures: [(String, [UInt8])] = [
            ("the other s", r + Self.negated(s)), ("r and s exchanged", s + r), ("DER", [UInt8](der)),
            ("all zero", zero + zero), ("r is zero", zero + s), ("s is zero", r + zero),
            ("s is the order", r + Self.order),
            ("one byte less", Array(raw.dropLast())), ("one byte more", raw + [0]), ("a zero in front", [0] + raw),
            ("48 bytes each", [UInt8](repeating: 0, count: 16) + r + [UInt8](repeating: 0, count: 16) + s),
        ]
        for (name, signature) in signatures {
            add(base, .signature, name, "\(parts[0]).\(parts[1]).\(Base64URL.encode(signature))")
        }
    }

    /// The order of P-256 (SEC 2, section 2.4.2).
    private static let order: [UInt8] =
        [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 8)
        + [0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51]

    /// The order less `s`: the curve's symmetry makes it the same signature.
    private static func negated(_ s: [UInt8]) -> [UInt8] {
        var result = order
        var borrow = 0
        for index in stride(from: 31, through: 0, by: -1) {
            let difference = Int(order[index]) - Int(s[index]) - borrow
            borrow = difference < 0 ? 1 : 0
            result[index] = UInt8(truncatingIfNeeded: difference)
        }
        return result
    }

    /// A header, payload and signature of different payloads.
    mutating func addSplices() throws {
        for (index, first) in bases.enumerated() {
            let second = bases[(index + 1) % bases.count]
            let (one, two) = (first.parts, second.parts)
            let choices = [
                [one[0], two[1], one[2]], [one[0], one[1], two[2]], [two[0], one[1], one[2]], [two[0], one[1], two[2]],
            ]
            for (number, parts) in choices.enumerated() {
                add(first, .spelling, "spliced \(number) with \(second.name)", parts.joined(separator: "."))
            }
            guard !first.isSimulated else { continue }
            // Apple's own header over the same content, signed by us.
            add(first, .signature, "signed by the simulator's leaf", try signed(header: one[0], payload: one[1]))
        }
    }
}
