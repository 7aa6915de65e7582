import CryptoExtras
import Foundation
import SwiftASN1
import X509

@testable import AppStoreSimulator

/// Receipts that somebody signed who has the authority's keys, or says so.
extension ReceiptMutationGenerator {
    private typealias Recipe = (name: String, change: (inout ReceiptBench.Recipe) throws -> Void)

    static func signedAnew(_ bench: ReceiptBench) throws -> [ReceiptMutant] {
        func mutant(_ what: String, _ der: [UInt8]) -> ReceiptMutant {
            ReceiptMutant(
                name: "simulated", place: .signedAnew, what: what, der: der, app: ReceiptBench.app,
                date: ReceiptBench.now)
        }
        let content = try ReceiptBench.contents().encoded()
        let bySigner = try (signers(bench) + chains(bench)).map { recipe in
            var changed = try bench.recipe()
            try recipe.change(&changed)
            return mutant(recipe.name, try ReceiptBench.sign(content, changed))
        }
        let contents: [(String, [UInt8])] = [("empty content", []), ("content that is none", Array("hello".utf8))]
        return try bySigner + contents.map { mutant($0, try bench.authority.signer.sign($1)) }
    }

    /// Another algorithm, number of signers, or key.
    private static func signers(_ bench: ReceiptBench) throws -> [Recipe] {
        let other = try ReceiptBench.chain(bench.other)
        return [
            ("SHA-256", { _ in }), ("SHA-1", { $0.digest = .sha1 }),
            ("sha256WithRSA", { $0.signatureName = [1, 2, 840, 113549, 1, 1, 11] }),
            ("sha1WithRSA over SHA-256", { $0.signatureName = [1, 2, 840, 113549, 1, 1, 5] }),
            ("ECDSA by name", { $0.signatureName = [1, 2, 840, 10045, 4, 3, 2] }),
            ("SHA-512 by name", { $0.digestName = [2, 16, 840, 1, 101, 3, 4, 2, 3] }),
            ("SHA-1 by name", { $0.digestName = [1, 3, 14, 3, 2, 26] }), ("two signers", { $0.signers = 2 }),
            ("no signer", { $0.signers = 0 }), ("no list", { $0.certificates = nil }),
            ("a stranger's key", { $0.key = bench.other.leaf.key }),
            ("a stranger's chain", { $0.certificates = other }),
            (
                "a stranger's chain and key",
                {
                    $0.certificates = other
                    $0.key = bench.other.leaf.key
                    $0.signer = bench.other.leaf.certificate
                }
            ),
        ]
    }

    /// A leaf or an intermediate issued anew.
    private static func chains(_ bench: ReceiptBench) throws -> [Recipe] {
        let now = ReceiptBench.now
        let changes: [(String, Bool, (inout CertificateRecipe) -> Void)] = [
            ("no leaf's marker", true, { $0.marker = nil }), ("no intermediate's marker", false, { $0.marker = nil }),
            ("an expired leaf", true, { $0.notValidAfter = now - 60 }),
            ("a leaf of tomorrow", true, { $0.notValidBefore = now + 60 }),
            ("an expired intermediate", false, { $0.notValidAfter = now - 60 }),
            ("a leaf that may not sign", true, { $0.hasProperKeyUsage = false }),
            ("an intermediate that may not sign certificates", false, { $0.hasProperKeyUsage = false }),
            ("an unknown critical extension", true, { $0.hasUnknownCriticalExtension = true }),
        ]
        let chain = try ReceiptBench.chain(bench.authority)
        return try changes.map { name, isLeaf, change in
            var list = chain
            list[isLeaf ? 0 : 1] = try ReceiptAuthority.encoded(bench.certificate(change, isLeaf: isLeaf))
            return (name, { $0.certificates = list })
        }
    }
}
