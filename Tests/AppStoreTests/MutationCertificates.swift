import AppStore
import Crypto
import Foundation
import SwiftASN1

@testable import AppStoreSimulator

/// Changes of `x5c` by somebody who has the leaf's key: without it, the signature alone would refuse them all.
extension MutationGenerator {
    private enum Count {
        /// Changes of each sort in each certificate, anywhere in it.
        static let perCertificate = 20
        /// Bytes at the start of a certificate, each of which is changed: tags and lengths.
        static let start = 24
        /// Bytes around the end of what is signed: the algorithm and the signature's head.
        static let tail = 124
    }

    mutating func addCertificates() throws {
        let base = try base("consumable")
        let encoded = try store.authority.chain.encoded
        for index in encoded.indices { try addCertificateBytes(base, encoded, index) }
        try addCertificateLists(base, encoded)
    }

    private mutating func addCertificateBytes(_ base: MutationBase, _ encoded: [[UInt8]], _ index: Int) throws {
        let count = encoded[index].count
        var places: [(ByteChange, Int)] = (0..<Count.start).map { (.flipBit, $0) }
        places += ((count - Count.tail)..<count).map { (.flipBit, $0) }
        for change in ByteChange.allCases {
            for _ in 0..<Count.perCertificate { places.append((change, Int.random(in: 0..<count, using: &random))) }
        }
        for (change, position) in places {
            var changed = encoded
            changed[index] = change.applied(to: encoded[index], at: position, &random)
            try addList(base, .certificateByte, "x5c[\(index)]: \(change) at \(position) of \(count)", changed)
        }
    }

    private mutating func addList(
        _ base: MutationBase, _ family: Mutant.Family, _ what: String, _ certificates: [[UInt8]]
    ) throws {
        let header = Self.header(x5c: certificates.map { Data($0).base64EncodedString() })
        add(base, family, what, try signed(base, header: header))
    }

    private mutating func addCertificateLists(_ base: MutationBase, _ encoded: [[UInt8]]) throws {
        let stranger = try CertificateAuthority(now: SimulatedStore.now).chain.encoded
        let genuine = try bases.filter { !$0.isSimulated }.suffix(1).flatMap { try Self.certificates(of: $0) }
        let all = encoded + stranger + genuine
        // Every three of the six, ours and a stranger's of the same names; and ours below Apple's.
        for first in 0..<6 {
            for second in 0..<6 {
                for third in 0..<6 where [first, second, third] != [0, 1, 2] {
                    let list = [first, second, third]
                    try addList(base, .certificateList, "certificates \(list)", list.map { all[$0] })
                }
            }
        }
        for list in [[6, 7, 8], [0, 7, 8], [0, 1, 8], [6, 1, 2], [6, 7, 2]] where genuine.count == 3 {
            try addList(base, .certificateList, "certificates \(list)", list.map { all[$0] })
        }
        for list in [[], [0], [0, 1], [0, 1, 2, 2], [0, 1, 1, 2], [0, 1, 2, 3, 4, 5]] as [[Int]] {
            try addList(base, .certificateList, "certificates \(list)", list.map { all[$0] })
        }
        try addCertificateSpellings(base, encoded)
    }

    private static func certificates(of base: MutationBase) throws -> [[UInt8]] {
        struct Header: Decodable { let x5c: [Data] }
        let header = MutationText.decoded(base.parts[0].utf8) ?? []
        return try JSONDecoder().decode(Header.self, from: Data(header)).x5c.map { [UInt8]($0) }
    }

    /// The good certificates, spelled as some decoders allow.
    private mutating func addCertificateSpellings(_ base: MutationBase, _ encoded: [[UInt8]]) throws {
        for index in encoded.indices {
            let der = encoded[index]
            let text = Data(der).base64EncodedString()
            let stripped = text.replacingOccurrences(of: "=", with: "")
            let padding = String(repeating: "=", count: text.utf8.count - stripped.utf8.count)
            var spellings: [(String, String)] = [
                ("no padding", stripped), ("more padding", text + "="), ("four signs of padding", stripped + "===="),
                ("base64url", Base64URL.encode(der)),
                ("a line break", MutationText.inserting("\\n", into: text, at: 64)),
                ("a space", MutationText.inserting(" ", into: text, at: 64)), ("a line break at the end", text + "\\n"),
                ("a letter escaped", "\\u004D" + text.dropFirst()), ("empty", ""),
                ("PEM", "-----BEGIN CERTIFICATE-----\\n\(text)\\n-----END CERTIFICATE-----"),
            ]
            spellings += Self.unusedBits(stripped, alphabet: "+/").map { ("unused bits", $0 + padding) }
            for (name, der) in Self.encodings(der) { spellings.append((name, Data(der).base64EncodedString())) }
            for (name, text) in spellings {
                var texts = encoded.map { Data($0).base64EncodedString() }
                texts[index] = text
                add(
                    base, .certificateList, "x5c[\(index)]: \(name)",
                    try signed(base, header: Self.header(x5c: texts)))
            }
        }
    }

    /// A certificate in BER that is not DER, or with more behind it.
    private static func encodings(_ der: [UInt8]) -> [(String, [UInt8])] {
        // 30 82 hi lo: a sequence of more than 255 bytes.
        let content = Array(der.dropFirst(4))
        return [
            ("a zero behind it", der + [0]), ("two zeros behind it", der + [0, 0]), ("itself behind it", der + der),
            ("a long length", [0x30, 0x83, 0] + der[2..<4] + content),
            ("an indefinite length", [0x30, 0x80] + content + [0, 0]),
        ]
    }
}
