import AppStore
import Foundation
import Testing
import VectorTesting

@testable import AppStoreSimulator

@Suite("The certificates of a JWS")
struct ChainCertificatesTests {
    private let store: SimulatedStore

    init() throws { store = try #require(SimulatedStore.shared) }

    /// A JWS with any header and a good signature.
    private func sign(header: String) throws -> [UInt8] {
        Array(try PayloadSigner(header: header, key: store.authority.leafKey).sign(SimulatedStore.payload()).utf8)
    }

    @Test("leaf, intermediate and root come out as they went in, whether the chain is remembered or not")
    func good() throws {
        let jws = try store.sign(SimulatedStore.payload())
        let verifier = store.verifier
        let encoded = try store.authority.chain.encoded
        #expect(verifier.certificates(of: jws) == encoded)
        _ = try verifier.payload(jws).get()
        #expect(verifier.certificates(of: jws) == encoded)
        // They are not judged: this verifier trusts another root.
        #expect(SignedDataVerifier(roots: .appleRootG3).certificates(of: jws) == encoded)
    }

    @Test("what is no JWS with three certificates within the limits has none")
    func hostile() throws {
        let jws = try store.sign(SimulatedStore.payload())
        let verifier = store.verifier
        let texts = try store.certificateTexts()
        for bytes in [[], Array("a.b".utf8), Array("a.b.c".utf8), Array(jws.dropFirst()), jws + Array(".".utf8)]
            as [[UInt8]]
        {
            #expect(verifier.certificates(of: bytes) == nil)
        }
        for list in [[], [texts[0]], texts + [texts[0]], [texts[0], texts[1], "1"], [texts[0], texts[1], "\"!\""]] {
            let header = "{\"alg\":\"ES256\",\"x5c\":[\(list.joined(separator: ","))]}"
            #expect(verifier.certificates(of: try sign(header: header)) == nil)
        }
        let tooLong = SignedDataVerifier(roots: store.roots, limits: .init(signedDataBytesMaximum: jws.count - 1))
        #expect(tooLong.certificates(of: jws) == nil)
        let tooLarge = SignedDataVerifier(roots: store.roots, limits: .init(certificateBytesMaximum: 100))
        #expect(tooLarge.certificates(of: jws) == nil)
    }

    @Test(
        "Apple's own have three, and the same for every payload of a leaf",
        .enabled(if: Vectors.areAvailable, Comment(rawValue: Vectors.skipped)))
    func genuine() throws {
        let verifier = SignedDataVerifier(roots: .appleRootG3)
        var chains: Set<[[UInt8]]> = []
        for vector in Vectors.genuine {
            let certificates = try #require(verifier.certificates(of: try vector.jws), "\(vector.file)")
            #expect(certificates.count == 3)
            chains.insert(certificates)
        }
        #expect(!chains.isEmpty && chains.count < Vectors.genuine.count)
    }
}
