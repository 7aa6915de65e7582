import AppStore
import ArgumentParser
import Crypto
import Foundation
import Persistence
import Postgres
import TrustedRootSettings

extension CertificatesCommand {
    /// `countersign certificates chains`.
    struct Chains: DatabaseLook {
        static let configuration = CommandConfiguration(
            commandName: "chains",
            abstract:
                "Lists the certificate chains of signed transactions; exits with 2 if a root is not Apple's.",
            discussion: """
                Apple uses two or three chains in some years. The owner of any other root could sign purchases while \
                that root was trusted. Receipts are not included.
                """)

        @Flag(help: "Counts the proofs of each chain, which reads all of them.") var count = false
        @OptionGroup var printing: PrintingOptions

        func look(_ pool: PostgresPool) async throws -> [ChainLine] {
            try await ProofChainReading(pool: pool).chains(counts: count).map(ChainLine.init)
        }

        func text(_ chains: [ChainLine]) -> String {
            chains.isEmpty ? "no chain is known yet" : chains.map(\.text).joined(separator: "\n")
        }

        func needsSomebody(_ chains: [ChainLine]) -> Bool { !chains.allSatisfy(\.isApples) }
    }
}

/// A chain, for people and programs.
struct ChainLine: Encodable, Sendable {
    let fingerprint: String
    let firstSeenAt: Date
    /// The SHA-256 of the last certificate, in hexadecimal digits; nil where the header cannot be read.
    let rootSha256: String?
    let isApples: Bool
    let count: Int64?
    let firstReceivedAt: Date?
    let lastReceivedAt: Date?

    enum CodingKeys: String, CodingKey {
        case fingerprint, firstSeenAt, rootSha256, count, firstReceivedAt, lastReceivedAt
        case isApples = "apples"
    }

    init(_ chain: ProofChainReading.Chain) {
        fingerprint = chain.fingerprint
        firstSeenAt = chain.createdAt
        (count, firstReceivedAt, lastReceivedAt) = (chain.count, chain.firstReceivedAt, chain.lastReceivedAt)
        rootSha256 = Self.root(of: chain.header)
        isApples = rootSha256.map { RootUse.signedData.appleRoots.fingerprints.contains($0) } ?? false
    }

    /// The SHA-256 of the last certificate of a JWS's header (RFC 7515, section 4.1.6).
    static func root(of header: String) -> String? {
        struct Header: Decodable { let x5c: [String] }
        guard let bytes = Base64Decoding.urlSafe(Array(header.utf8).prefix { $0 != UInt8(ascii: ".") }),
            let last = try? JSONDecoder().decode(Header.self, from: Data(bytes)).x5c.last,
            let certificate = Data(base64Encoded: last)
        else { return nil }
        return SHA256.hash(data: certificate).lowercaseHexadecimal
    }

    var text: String {
        let place = isApples ? "Apple's" : rootSha256 == nil ? "UNREADABLE" : "NOT APPLE'S"
        let counted = count.map { count in
            let times = [firstReceivedAt, lastReceivedAt].compactMap { $0?.formatted(.iso8601) }.joined(
                separator: " to ")
            return ", \(count) proofs" + (times.isEmpty ? "" : " of \(times)")
        }
        return "\(fingerprint)  \(place), root \(rootSha256 ?? "-"), first seen \(firstSeenAt.formatted(.iso8601))"
            + (counted ?? "")
    }
}
