import AppStore
import Crypto
import Foundation
import SwiftASN1
import Testing
import X509

@testable import AppStoreSimulator

/// Each test changes one thing about who signed a receipt, and how, and nothing else.
@Suite("Receipts and their signers")
struct ReceiptChainTests {
    private let bench: ReceiptBench

    init() throws { bench = try #require(ReceiptBench.shared) }

    @Test("RSA over SHA-1 and over SHA-256 is accepted, by either name")
    func digests() throws {
        #expect(try bench.rejectionOfRecipe { _ in } == nil)
        #expect(try bench.rejectionOfRecipe { $0.digest = .sha1 } == nil)
        #expect(try bench.rejectionOfRecipe { $0.signatureName = [1, 2, 840, 113549, 1, 1, 11] } == nil)
        #expect(
            try bench.rejectionOfRecipe {
                $0.digest = .sha1
                $0.signatureName = [1, 2, 840, 113549, 1, 1, 5]
            } == nil)
    }

    @Test("SHA-1 is refused from a creation date on, and by that date alone; SHA-256 never is")
    func sha1Ends() throws {
        let end = ReceiptBench.now
        let verifier = ReceiptVerifier(roots: bench.roots, sha1Until: end)
        func code(_ digest: ReceiptBench.Recipe.Digest, secondsAfter: Int64) throws -> RejectionCode? {
            var recipe = try bench.recipe()
            recipe.digest = digest
            let contents = try ReceiptBench.contents {
                $0.creationDate = (Int64(end.timeIntervalSince1970) + secondsAfter) * 1_000
            }
            return rejection(
                verifier.receipt(try ReceiptBench.sign(contents.encoded(), recipe), app: ReceiptBench.app))
        }
        #expect(try code(.sha1, secondsAfter: -1) == nil)
        #expect(try code(.sha1, secondsAfter: 0) == .sha1Ended)
        #expect(try code(.sha1, secondsAfter: 86_400) == .sha1Ended)
        #expect(try code(.sha256, secondsAfter: 86_400) == nil)
        let day = try Date("2025-07-01T00:00:00Z", strategy: .iso8601)
        #expect(ReceiptVerifier.sha1Ended == day)
    }

    @Test("other digests and other signatures are refused")
    func algorithms() throws {
        let names: [ASN1ObjectIdentifier] = [
            [1, 2, 840, 113549, 1, 1, 5], [1, 2, 840, 113549, 1, 1, 10], [1, 2, 840, 10045, 4, 3, 2],
        ]
        for name in names {
            #expect(try bench.rejectionOfRecipe { $0.signatureName = name } == .algorithmNotSupported)
        }
        #expect(
            try bench.rejectionOfRecipe { $0.digestName = [2, 16, 840, 1, 101, 3, 4, 2, 3] } == .algorithmNotSupported)
        #expect(try bench.rejectionOfRecipe { $0.digestName = [1, 3, 14, 3, 2, 26] } == .signatureInvalid)
    }

    private static func attribute(_ name: ASN1ObjectIdentifier, _ value: [UInt8]) -> [UInt8] {
        ReceiptBench.value(0x30, (try? ReceiptBench.name(name)) ?? [], ReceiptBench.value(0x31, value))
    }

    private static let type = attribute(
        [1, 2, 840, 113549, 1, 9, 3], (try? ReceiptBench.name([1, 2, 840, 113549, 1, 7, 1])) ?? [])

    private static func digest(_ digest: [UInt8]) -> [UInt8] {
        attribute([1, 2, 840, 113549, 1, 9, 4], ReceiptBench.value(0x04, digest))
    }

    @Test("signed attributes are accepted when they vouch for the content")
    func signedAttributes() throws {
        typealias Attributes = ([UInt8]) -> [[UInt8]]
        func code(_ attributes: @escaping Attributes) throws -> RejectionCode? {
            try bench.rejectionOfRecipe { $0.signedAttributes = attributes }
        }
        let time = Self.attribute([1, 2, 840, 113549, 1, 9, 5], [0x17, 1, 0x5A])
        #expect(try code { [Self.type, Self.digest($0)] } == nil)
        #expect(try code { [Self.type, time, Self.digest($0)] } == nil)
        #expect(
            try bench.rejectionOfRecipe {
                $0.digest = .sha1
                $0.signedAttributes = { [Self.type, Self.digest($0)] }
            } == nil)
        #expect(try code { _ in [] } == .signatureInvalid)
        #expect(try code { _ in [Self.type] } == .signatureInvalid)
        #expect(try code { [Self.digest($0)] } == .signatureInvalid)
        #expect(try code { [Self.type, Self.digest($0.reversed())] } == .signatureInvalid)
        #expect(try code { [Self.type, Self.digest($0), Self.digest($0)] } == .signatureInvalid)
        #expect(try code { [Self.type, Self.digest([]), Self.digest($0)] } == .signatureInvalid)
        let otherType = Self.attribute([1, 2, 840, 113549, 1, 9, 3], [6, 1, 0x2A])
        #expect(try code { [otherType, Self.digest($0)] } == .signatureInvalid)
        #expect(try code { digest in Array(repeating: time, count: 20) + [Self.digest(digest)] } == .signatureInvalid)
    }

    @Test("certificates that are themselves signed with SHA-1 are accepted, as Apple's were until 2023")
    func sha1Chain() throws {
        let leaf = try bench.certificate({ _ in }, isLeaf: true, algorithm: .sha1WithRSAEncryption)
        let intermediate = try bench.certificate({ _ in }, isLeaf: false, algorithm: .sha1WithRSAEncryption)
        #expect(
            try bench.rejectionOfRecipe { recipe in
                recipe.digest = .sha1
                recipe.certificates?[0] = try ReceiptAuthority.encoded(leaf)
                recipe.certificates?[1] = try ReceiptAuthority.encoded(intermediate)
            } == nil)
    }

    @Test("a self-made chain with all the right marks is refused, also under a borrowed root or intermediate")
    func otherChains() throws {
        let own = try ReceiptBench.chain(bench.authority)
        let other = try ReceiptBench.chain(bench.other)
        let cases: [([[UInt8]], RejectionCode)] = [
            (other, .rootNotTrusted), ([other[0], other[1], own[2]], .chainInvalid),
            ([other[0], own[1], own[2]], .chainInvalid), ([other[0], own[1], other[2]], .rootNotTrusted),
        ]
        for (certificates, code) in cases {
            let found = try bench.rejectionOfRecipe {
                $0.key = bench.other.leaf.key
                $0.signer = bench.other.leaf.certificate
                $0.certificates = certificates
            }
            #expect(found == code)
        }
    }

    @Test("a signature by another key is refused, whoever it says signed")
    func foreignSigner() throws {
        #expect(try bench.rejectionOfRecipe { $0.key = bench.other.leaf.key } == .signatureInvalid)
        #expect(try bench.rejectionOfRecipe { $0.signer = bench.other.leaf.certificate } == .signerMissing)
        #expect(
            try bench.rejectionOfRecipe {
                $0.key = bench.authority.intermediate.key
                $0.signer = bench.authority.intermediate.certificate
            } == .chainInvalid)
        #expect(
            try bench.rejectionOfRecipe {
                $0.key = bench.authority.root.key
                $0.signer = bench.authority.root.certificate
            } == .chainInvalid)
        #expect(try bench.rejectionOfRecipe { $0.signers = 2 } == .notAReceipt)
        #expect(try bench.rejectionOfRecipe { $0.signers = 0 } == .notAReceipt)
    }

    @Test("a missing certificate is missed")
    func missing() throws {
        for (index, code) in [RejectionCode.signerMissing, .chainInvalid, .chainInvalid].enumerated() {
            #expect(try bench.rejectionOfRecipe { _ = $0.certificates?.remove(at: index) } == code)
        }
        #expect(try bench.rejectionOfRecipe { $0.certificates = nil } == .certificateCount)
        #expect(try bench.rejectionOfRecipe { $0.certificates = [] } == .signerMissing)
    }

    @Test("certificates are a set: any order is good, and is one chain")
    func order() throws {
        let verifier = bench.verifier
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            var recipe = try bench.recipe()
            recipe.certificates = recipe.certificates.map { all in order.map { all[$0] } }
            let receipt = try ReceiptBench.sign(try ReceiptBench.contents().encoded(), recipe)
            #expect(rejection(verifier.receipt(receipt, app: ReceiptBench.app)) == nil, "\(order)")
        }
        #expect(verifier.chainsCached == 1)
    }

    @Test("superfluous certificates do no harm, up to eight, though they have the names of good ones")
    func superfluous() throws {
        let other = try ReceiptBench.chain(bench.other)
        for extra in [[other[1]], [other[2]], [other[2], other[1]]] {
            #expect(try bench.rejectionOfRecipe { $0.certificates = extra + ($0.certificates ?? []) } == nil)
        }
        let six = Array(repeating: other[0], count: 6)
        #expect(try bench.rejectionOfRecipe { $0.certificates?.append(contentsOf: six.dropLast()) } == nil)
        #expect(try bench.rejectionOfRecipe { $0.certificates?.append(contentsOf: six) } == .certificateCount)
        #expect(try bench.rejectionOfRecipe { $0.certificates?.append([0x04, 0]) } == .certificateInvalid)
        let large = ReceiptBench.value(0x30, [UInt8](repeating: 5, count: 9_000))
        #expect(try bench.rejectionOfRecipe { $0.certificates?.append(large) } == .certificateInvalid)
    }

    @Test("leaf and intermediate must be valid at the creation date, have their marks, and be what they are used as")
    func certificates() throws {
        typealias Change = (inout CertificateRecipe) -> Void
        let now = ReceiptBench.now
        let cases: [(Bool, RejectionCode?, Change)] = [
            (true, nil, { _ in }), (false, nil, { _ in }),
            (true, .certificateExpired, { $0.notValidAfter = now - 60 }),
            (true, .certificateExpired, { $0.notValidBefore = now + 60 }),
            (true, nil, { $0.notValidAfter = now + 60 }),
            (false, .certificateExpired, { $0.notValidAfter = now - 60 }),
            (true, .leafMarkerMissing, { $0.marker = nil }),
            (true, .leafMarkerMissing, { $0.marker = CertificateAuthority.intermediateMarker }),
            (false, .intermediateMarkerMissing, { $0.marker = nil }),
            (true, .chainInvalid, { $0.hasUnknownCriticalExtension = true }),
            (true, .chainInvalid, { $0.hasProperKeyUsage = false }),
            (false, .chainInvalid, { $0.isAuthority = false }),
            (false, .chainInvalid, { $0.hasProperKeyUsage = false }),
        ]
        for (index, (isLeaf, code, change)) in cases.enumerated() {
            let certificate = try bench.certificate(change, isLeaf: isLeaf)
            let found = try bench.rejectionOfRecipe { recipe in
                recipe.certificates?[isLeaf ? 0 : 1] = try ReceiptAuthority.encoded(certificate)
            }
            #expect(found == code, "case \(index)")
        }
    }

    @Test("beyond its capacity the cache forgets, and everything still verifies")
    func cache() throws {
        let verifier = ReceiptVerifier(roots: bench.roots, limits: ReceiptLimits(chainsCachedMaximum: 2))
        let leaves = try (1...4).map { days in
            try bench.certificate({ $0.notValidAfter = ReceiptBench.now + Double(days) * 86_400 }, isLeaf: true)
        }
        for leaf in leaves + leaves {
            var recipe = try bench.recipe()
            recipe.certificates?[0] = try ReceiptAuthority.encoded(leaf)
            let receipt = try ReceiptBench.sign(try ReceiptBench.contents().encoded(), recipe)
            #expect(rejection(verifier.receipt(receipt, app: ReceiptBench.app)) == nil)
        }
        #expect(verifier.chainsCached == 2)
    }

    @Test("a remembered chain is judged again at every receipt's own date, and vouches for no other signature")
    func rememberedChain() throws {
        let verifier = bench.verifier
        _ = try verifier.receipt(
            try bench.authority.receipt(try ReceiptBench.contents()), app: ReceiptBench.app
        ).get()
        #expect(verifier.chainsCached == 1)
        let old = try bench.authority.receipt(try ReceiptBench.contents { $0.creationDate = 1_400_000_000_000 })
        #expect(rejection(verifier.receipt(old, app: ReceiptBench.app)) == .certificateExpired)
        var recipe = try bench.recipe()
        recipe.key = bench.other.leaf.key
        let forged = try ReceiptBench.sign(try ReceiptBench.contents().encoded(), recipe)
        #expect(rejection(verifier.receipt(forged, app: ReceiptBench.app)) == .signatureInvalid)
        #expect(verifier.chainsCached == 1)
    }
}
