import AppStore
import Foundation
import Testing

@testable import AppStoreSimulator

/// What the comparison with Apple's library found in our verifier, each with the smallest mutant that shows it.
@Suite("What mutants have found")
struct MutationFindingTests {
    private let store: SimulatedStore

    init() throws { store = try #require(SimulatedStore.shared) }

    /// A leaf whose signature ends in a zero bit, so that a parser may take this bit for a spare one.
    private func evenChain() throws -> CertificateAuthority.Chain {
        for _ in 0..<200 {
            let chain = try store.authority.chain(replacingLeaf: .leaf, now: SimulatedStore.now)
            if let last = try chain.encoded[0].last, last & 1 == 0 { return chain }
        }
        throw CocoaError(.featureUnsupported)
    }

    @Test("a certificate whose signature claims spare bits is another spelling of it, and refused")
    func spareBits() throws {
        let chain = try evenChain()
        let certificate = try chain.encoded[0]
        let unusedBits = try Self.signature(of: certificate).startIndex
        try #require(certificate[unusedBits] == 0)
        var changed = certificate
        changed[unusedBits] = 1
        let encoded = try chain.encoded
        func code(_ leaf: [UInt8]) throws -> RejectionCode? {
            let signer = try PayloadSigner(chain: chain, certificates: [leaf, encoded[1], encoded[2]])
            let jws = Array(try signer.sign(SimulatedStore.payload()).utf8)
            return rejection(store.verifier.transaction(jws, app: SimulatedStore.app))
        }
        #expect(try code(certificate) == nil)
        #expect(try code(changed) == .certificateInvalid)
    }

    /// The content of the BIT STRING at a certificate's end, with the number of its spare bits in front.
    private static func signature(of certificate: [UInt8]) throws -> ArraySlice<UInt8> {
        // Two numbers of about 48 bytes each: the length takes one byte.
        for count in 90..<112 {
            let start = certificate.count - count
            if certificate[start - 2] == 0x03, Int(certificate[start - 1]) == count, certificate[start + 1] == 0x30 {
                return certificate[start...]
            }
        }
        throw CocoaError(.coderReadCorrupt)
    }

    @Test("a certificate is valid to the end of its last second, since it counts no shorter times")
    func lastSecond() throws {
        let second = Int64(SimulatedStore.now.timeIntervalSince1970)
        var recipe = CertificateRecipe.leaf
        recipe.notValidAfter = Date(timeIntervalSince1970: Double(second))
        let chain = try store.authority.chain(replacingLeaf: recipe, now: SimulatedStore.now)
        let verifier = store.verifier
        // Twice, since a verifier that remembers the chain checks the time apart.
        for _ in 0..<2 {
            for (fraction, code) in [(0, nil), (1, nil), (999, nil), (1_000, .certificateExpired)]
                as [(Int64, RejectionCode?)]
            {
                let payload = SimulatedStore.payload(["signedDate": "\(second * 1_000 + fraction)"])
                let jws = try store.sign(payload, with: chain)
                #expect(rejection(verifier.transaction(jws, app: SimulatedStore.app)) == code, "\(fraction) ms")
            }
        }
    }

    @Test("a header that RFC 7515 or 7797 does not allow is refused, though the leaf signed it")
    func headers() throws {
        let certificates = try store.certificateTexts().joined(separator: ",")
        func code(_ more: String) throws -> RejectionCode? {
            try store.rejectionOfHeader("{\"alg\":\"ES256\",\"x5c\":[\(certificates)]\(more)}")
        }
        for allowed in ["", ",\"kid\":\"1\"", ",\"kid\":\"\"", ",\"b64\":true", ",\"typ\":\"JWT\""] {
            #expect(try code(allowed) == nil, "\(allowed)")
        }
        // A kid is text (RFC 7515, section 4.1.4); a payload that is not base64url needs crit (RFC 7797, section 6).
        for refused in [",\"kid\":1", ",\"kid\":null", ",\"kid\":[\"1\"]", ",\"b64\":false"] {
            #expect(try code(refused) == .headerInvalid, "\(refused)")
        }
    }
}
