import AppStore
import Crypto
import Foundation
import Testing
import X509

@testable import AppStoreSimulator

/// Each test breaks one thing about a chain and nothing else.
@Suite("Hostile chains")
struct HostileChainTests {
    private let store: SimulatedStore
    private let now = SimulatedStore.now

    init() throws { store = try #require(SimulatedStore.shared) }

    private func rejectionOfLeaf(_ change: (inout CertificateRecipe) -> Void) throws -> RejectionCode? {
        var recipe = CertificateRecipe.leaf
        change(&recipe)
        return try store.rejectionOfChain(try store.authority.chain(replacingLeaf: recipe, now: now))
    }

    private func rejectionOfIntermediate(_ change: (inout CertificateRecipe) -> Void) throws -> RejectionCode? {
        var recipe = CertificateRecipe.intermediate
        change(&recipe)
        return try store.rejectionOfChain(try store.authority.chain(replacingIntermediate: recipe, now: now))
    }

    @Test("chains made anew by the same recipes are good")
    func good() throws {
        #expect(try store.rejectionOfChain(store.authority.chain) == nil)
        #expect(try rejectionOfLeaf { _ in } == nil)
        #expect(try rejectionOfIntermediate { _ in } == nil)
        #expect(try rejectionOfIntermediate { $0.pathLengthMaximum = nil } == nil)
    }

    @Test("a self-made chain with all the right marks under another root is refused")
    func otherRoot() throws {
        let other = try CertificateAuthority(now: now)
        #expect(try store.rejectionOfChain(other.chain) == .rootNotTrusted)
        #expect(
            rejection(SignedDataVerifier(roots: .appleRootG3).payload(try store.sign(SimulatedStore.payload())))
                == .rootNotTrusted)
    }

    @Test("a trusted root below which the chain does not lie is refused")
    func borrowedRoot() throws {
        let other = try CertificateAuthority(now: now)
        let chain = CertificateAuthority.Chain(
            leaf: other.leaf, intermediate: other.intermediate, root: store.authority.root, leafKey: other.leafKey)
        #expect(try store.rejectionOfChain(chain) == .chainInvalid)
    }

    @Test("a genuine intermediate below which the leaf does not lie is refused, though the names agree")
    func borrowedIntermediate() throws {
        let other = try CertificateAuthority(now: now)
        let chain = CertificateAuthority.Chain(
            leaf: other.leaf, intermediate: store.authority.intermediate, root: store.authority.root,
            leafKey: other.leafKey)
        #expect(other.leaf.issuer == store.authority.intermediate.subject)
        #expect(try store.rejectionOfChain(chain) == .chainInvalid)
    }

    @Test("certificates in another order are refused")
    func order() throws {
        let encoded = try store.authority.chain.encoded
        let orders = [
            ([1, 0, 2], RejectionCode.chainInvalid), ([0, 2, 1], .rootNotTrusted), ([2, 1, 0], .rootNotTrusted),
            ([0, 0, 2], .chainInvalid), ([1, 1, 2], .chainInvalid), ([0, 2, 2], .chainInvalid),
            ([2, 2, 2], .chainInvalid),
        ]
        for (order, code) in orders {
            let signer = try PayloadSigner(chain: store.authority.chain, certificates: order.map { encoded[$0] })
            let jws = Array(try signer.sign(SimulatedStore.payload()).utf8)
            #expect(rejection(store.verifier.payload(jws)) == code, "\(order)")
        }
    }

    @Test("the leaf must be valid when the payload was signed")
    func leafValidity() throws {
        #expect(try rejectionOfLeaf { $0.notValidAfter = now - 60 } == .certificateExpired)
        #expect(try rejectionOfLeaf { $0.notValidBefore = now + 60 } == .certificateExpired)
        #expect(try rejectionOfLeaf { $0.notValidAfter = now + 60 } == nil)
    }

    @Test("the intermediate must be valid when the payload was signed")
    func intermediateValidity() throws {
        #expect(try rejectionOfIntermediate { $0.notValidAfter = now - 60 } == .certificateExpired)
        #expect(try rejectionOfIntermediate { $0.notValidBefore = now + 60 } == .certificateExpired)
    }

    @Test("a chain that has expired since is good for what it signed in its time")
    func expiredSince() throws {
        let longAgo = Date(timeIntervalSince1970: 1_500_000_000)
        let authority = try CertificateAuthority(now: longAgo)
        let roots = try TrustedRoots(fingerprints: [try CertificateAuthority.fingerprint(of: authority.root)])
        let payload = SimulatedStore.payload(["signedDate": "1500000000000"])
        let jws = try store.sign(payload, with: authority.chain)
        #expect(throws: Never.self) { try SignedDataVerifier(roots: roots).payload(jws).get() }
    }

    @Test("the root must be valid when the payload was signed")
    func rootValidity() throws {
        let payload = SimulatedStore.payload(["signedDate": "4102444800000"])
        #expect(try store.rejectionOfSigned(payload) == .certificateExpired)
    }

    @Test("leaf and intermediate need Apple's markers, each its own")
    func markers() throws {
        #expect(try rejectionOfLeaf { $0.marker = nil } == .leafMarkerMissing)
        #expect(try rejectionOfLeaf { $0.marker = CertificateAuthority.intermediateMarker } == .leafMarkerMissing)
        #expect(try rejectionOfIntermediate { $0.marker = nil } == .intermediateMarkerMissing)
        #expect(
            try rejectionOfIntermediate { $0.marker = CertificateAuthority.leafMarker } == .intermediateMarkerMissing)
    }

    @Test("an intermediate that is no authority, or may not sign certificates, is refused")
    func intermediateAuthority() throws {
        #expect(
            try rejectionOfIntermediate {
                $0.isAuthority = false
                $0.hasProperKeyUsage = false
            } == .chainInvalid)
        #expect(try rejectionOfIntermediate { $0.hasProperKeyUsage = false } == .chainInvalid)
    }

    @Test("a leaf that is an authority, or may not sign data, is refused")
    func leafAuthority() throws {
        #expect(
            try rejectionOfLeaf {
                $0.isAuthority = true
                $0.hasProperKeyUsage = false
            } == .chainInvalid)
        #expect(try rejectionOfLeaf { $0.hasProperKeyUsage = false } == .chainInvalid)
    }

    @Test("a critical extension that nobody understands is refused")
    func unknownCriticalExtension() throws {
        #expect(try rejectionOfLeaf { $0.hasUnknownCriticalExtension = true } == .chainInvalid)
        #expect(try rejectionOfIntermediate { $0.hasUnknownCriticalExtension = true } == .chainInvalid)
    }

    @Test("a root whose path may have no intermediate is refused")
    func pathLength() throws {
        let authority = try CertificateAuthority(
            now: now, rootRecipe: CertificateRecipe(isAuthority: true, pathLengthMaximum: 0))
        let roots = try TrustedRoots(fingerprints: [try CertificateAuthority.fingerprint(of: authority.root)])
        let jws = try store.sign(SimulatedStore.payload(), with: authority.chain)
        #expect(rejection(SignedDataVerifier(roots: roots).payload(jws)) == .chainInvalid)
    }

    @Test("a certificate with one bit changed is refused, wherever the bit is")
    func bitFlips() throws {
        let encoded = try store.authority.chain.encoded
        for index in 0..<2 {
            for position in stride(from: 0, to: encoded[index].count, by: 3) {
                var changed = encoded
                changed[index][position] ^= 0x10
                let signer = try PayloadSigner(chain: store.authority.chain, certificates: changed)
                let jws = Array(try signer.sign(SimulatedStore.payload()).utf8)
                let code = rejection(store.verifier.payload(jws))
                #expect([.chainInvalid, .certificateInvalid].contains(code), "x5c[\(index)] byte \(position)")
            }
        }
    }

    @Test("a root of which one bit is changed is another root")
    func rootBitFlip() throws {
        var encoded = try store.authority.chain.encoded
        encoded[2][100] ^= 1
        let signer = try PayloadSigner(chain: store.authority.chain, certificates: encoded)
        #expect(rejection(store.verifier.payload(Array(try signer.sign("{}").utf8))) == .rootNotTrusted)
    }
}
