import Foundation

// Not beside the module under test: both have types of the same names.
@testable import AppStoreSimulator

/// An App Store that signs as the real one does, under a root of the tests' own.
struct SigningStore {
    /// Made once: keys cost time.
    static let shared = try? SigningStore()

    private static let now = Date(timeIntervalSince1970: 1_790_000_000)
    /// When everything here is signed, in milliseconds.
    static let signedDate = Int64(now.timeIntervalSince1970 * 1_000)

    private let authority: CertificateAuthority
    private let signer: PayloadSigner
    /// What a verifier has to trust: SHA-256 in hexadecimal.
    let root: String
    /// The header's part of all that is signed.
    let header: [UInt8]

    init() throws {
        authority = try CertificateAuthority(now: Self.now)
        signer = try PayloadSigner(chain: authority.chain)
        root = try CertificateAuthority.fingerprint(of: authority.root)
        header = Array(try signer.sign("{}").utf8.prefix { $0 != UInt8(ascii: ".") })
    }

    func sign(_ payload: [UInt8]) throws -> String { try signer.sign(payload) }

    /// The same with a header that nobody has seen before.
    func signUnderAnotherHeader(_ payload: [UInt8]) throws -> String {
        let texts = try authority.chain.encoded.map { "\"\(Data($0).base64EncodedString())\"" }
        let header = #"{"alg":"ES256","kid":"\#(UUID().uuidString)","x5c":[\#(texts.joined(separator: ","))]}"#
        return try PayloadSigner(header: header, key: authority.leafKey).sign(payload)
    }
}
