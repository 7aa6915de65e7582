import Foundation
import Testing

@testable import AppStore
@testable import AppStoreSimulator

/// An operator denies a certificate whose key has leaked: whatever it signed, and whatever it says of when.
@Suite("Denied certificates")
struct DeniedCertificateTests {
    private let store: SimulatedStore
    private let bench: ReceiptBench

    init() throws {
        store = try #require(SimulatedStore.shared)
        bench = try #require(ReceiptBench.shared)
    }

    private func fingerprint(_ certificate: [UInt8]) -> String { TrustedRoots.fingerprint(of: certificate) }

    @Test("a chain with a denied leaf, intermediate or root is refused; one beside it is not")
    func everyPlace() throws {
        let jws = try store.sign(SimulatedStore.payload())
        for certificate in try store.authority.chain.encoded {
            let roots = try store.roots.denying([fingerprint(certificate)])
            let verifier = SignedDataVerifier(roots: roots)
            for _ in 0..<2 {
                #expect(rejection(verifier.transaction(jws, app: SimulatedStore.app)) == .certificateDenied)
            }
            #expect(verifier.chainsCached == 0)
        }
        let other = try store.authority.chain(replacingLeaf: .leaf, now: SimulatedStore.now)
        let roots = try store.roots.denying([fingerprint(try other.encoded[0])])
        let verifier = SignedDataVerifier(roots: roots)
        #expect(rejection(verifier.transaction(jws, app: SimulatedStore.app)) == nil)
        let denied = try store.sign(SimulatedStore.payload(), with: other)
        #expect(rejection(verifier.transaction(denied, app: SimulatedStore.app)) == .certificateDenied)
        // Nor under another header, nor when the same intermediate is in the cache.
        let texts = try other.encoded.map { "\"\(Data($0).base64EncodedString())\"" }.joined(separator: ",")
        let header = "{\"alg\":\"ES256\",\"kid\":\"1\",\"x5c\":[\(texts)]}"
        let again = try PayloadSigner(header: header, key: other.leafKey).sign(SimulatedStore.payload())
        #expect(rejection(verifier.payload(Array(again.utf8))) == .certificateDenied)
        #expect(verifier.chainsCached == 1)
    }

    @Test("it is denied at every date that a payload may name, and its header is not learnt")
    func everyDate() throws {
        let chain = try store.authority.chain(
            replacingLeaf: CertificateRecipe.leaf, now: SimulatedStore.now)
        let verifier = SignedDataVerifier(roots: try store.roots.denying([fingerprint(try chain.encoded[0])]))
        for signedDate in ["1000000000000", "1790000000000", "4102444800000"] {
            let jws = try store.sign(SimulatedStore.payload(["signedDate": signedDate]), with: chain)
            #expect(rejection(verifier.payload(jws)) == .certificateDenied)
            let header = Array(jws.prefix { $0 != UInt8(ascii: ".") })
            #expect(!verifier.learn(header: header))
            #expect(!verifier.knows(header: header))
        }
        #expect(verifier.chainsCached == 0)
    }

    @Test("so are those of receipts, and a certificate that stands in one unused denies nothing")
    func receipts() throws {
        let chain = try ReceiptBench.chain(bench.authority)
        let receipt = try ReceiptBench.sign(try ReceiptBench.contents().encoded(), try bench.recipe())
        for certificate in chain {
            let verifier = ReceiptVerifier(roots: try bench.roots.denying([fingerprint(certificate)]))
            #expect(rejection(verifier.receipt(receipt, app: ReceiptBench.app)) == .certificateDenied)
            #expect(verifier.chainsCached == 0)
        }
        let stranger = try ReceiptBench.chain(bench.other)[0]
        var recipe = try bench.recipe()
        recipe.certificates?.append(stranger)
        let beside = try ReceiptBench.sign(try ReceiptBench.contents().encoded(), recipe)
        let verifier = ReceiptVerifier(roots: try bench.roots.denying([fingerprint(stranger)]))
        #expect(rejection(verifier.receipt(beside, app: ReceiptBench.app)) == nil)
    }

    @Test("fingerprints are written as those of roots are; what is none is told by its number")
    func fingerprints() throws {
        let plain = String(repeating: "ab", count: 32)
        let colons = Array(repeating: "AB", count: 32).joined(separator: ":")
        #expect(try TrustedRoots.appleRoot.denying([colons]).denied == [plain])
        #expect(try TrustedRoots.appleRoot.denying([String]()) == .appleRoot)
        #expect(try TrustedRoots.appleRoot.denying([plain]).denying([plain]).denied.count == 1)
        let united = try TrustedRoots.appleRoot.denying([plain]).union(.appleRootG3)
        #expect(united.denied == [plain] && united.fingerprints.count == 2)
        for bad in ["", "ab", plain + "a", plain.replacing("a", with: "g")] {
            do {
                _ = try TrustedRoots.appleRoot.denying([plain, bad])
                Issue.record("\(bad) is no fingerprint")
            } catch {
                #expect(
                    error.description
                        == "denied certificate's fingerprint 2 is not a SHA-256 in hexadecimal (64 digits)")
            }
        }
    }
}
