import AppStore
import Foundation

@testable import AppStoreSimulator

/// An App Store of the tests' own: an authority, a verifier that trusts it, and a good transaction to spoil.
struct SimulatedStore {
    static let now = Date(timeIntervalSince1970: 1_790_000_000.123)
    static let app = AppIdentity(bundleId: "com.example.game")
    /// Made once: keys cost time.
    static let shared: SimulatedStore? = try? SimulatedStore()

    let authority: CertificateAuthority
    let roots: TrustedRoots

    init() throws {
        authority = try CertificateAuthority(now: Self.now)
        roots = try TrustedRoots(fingerprints: [try CertificateAuthority.fingerprint(of: authority.root)])
    }

    /// A verifier that has not seen anything yet.
    var verifier: SignedDataVerifier { SignedDataVerifier(roots: roots) }

    func sign(_ payload: String, with chain: CertificateAuthority.Chain? = nil) throws -> [UInt8] {
        Array(try PayloadSigner(chain: chain ?? authority.chain).sign(payload).utf8)
    }

    /// A payload with every field that a verifier needs, as fields that a test may change; nil leaves a field out.
    static func payload(_ changes: [String: String?] = [:]) -> String {
        let milliseconds = Int64(now.timeIntervalSince1970 * 1_000)
        var fields: [(String, String?)] = [
            ("transactionId", "\"2000000000000001\""), ("originalTransactionId", "\"2000000000000001\""),
            ("bundleId", "\"com.example.game\""), ("productId", "\"coins.100\""),
            ("purchaseDate", "\(milliseconds / 1_000 * 1_000)"), ("quantity", "1"), ("type", "\"Consumable\""),
            ("inAppOwnershipType", "\"PURCHASED\""), ("signedDate", "\(milliseconds)"),
            ("environment", "\"Production\""),
        ]
        return object(&fields, changes)
    }

    /// A JSON object of fields that are changed, added, or with nil left out.
    static func object(_ fields: inout [(String, String?)], _ changes: [String: String?]) -> String {
        for (name, value) in changes.sorted(by: { $0.key < $1.key }) {
            if let index = fields.firstIndex(where: { $0.0 == name }) {
                fields[index].1 = value
            } else {
                fields.append((name, value))
            }
        }
        return "{" + fields.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }.joined(separator: ",") + "}"
    }

    /// What the verifier says of a payload that is signed well.
    func rejectionOfSigned(_ payload: String) throws -> RejectionCode? {
        rejection(verifier.transaction(try sign(payload), app: Self.app))
    }

    /// What the verifier says of a good payload under a chain.
    func rejectionOfChain(_ chain: CertificateAuthority.Chain) throws -> RejectionCode? {
        rejection(verifier.transaction(try sign(Self.payload(), with: chain), app: Self.app))
    }

    /// What the verifier says of a good payload under any header.
    func rejectionOfHeader(_ header: String) throws -> RejectionCode? {
        let jws = try PayloadSigner(header: header, key: authority.leafKey).sign(Self.payload())
        return rejection(verifier.transaction(Array(jws.utf8), app: Self.app))
    }

    /// The certificates of the good chain as `x5c` writes them.
    func certificateTexts() throws -> [String] {
        try authority.chain.encoded.map { "\"\(Data($0).base64EncodedString())\"" }
    }
}
