import AppStore
import Foundation
import Testing
import VectorTesting

@testable import AppStoreSimulator

/// Apple's own Python library and our verifier judge the same mutants; `Tests/AppleLibrary/README.md` explains each class
/// of differences.
@Suite(
    "Mutants, as Apple's library judges them", .enabled(if: Vectors.areAvailable, Comment(rawValue: Vectors.skipped)))
struct MutationOracleTests {
    private enum Limit {
        static let mutantsMinimum = 3_000
        /// Of these both sides accept so many: else the comparison would say little.
        static let acceptedMinimum = 500
        /// Differences without a reason that are shown whole.
        static let shown = 10
    }

    @Test("every mutant is judged the same, or differs for an explained reason", .timeLimit(.minutes(5)))
    func everyMutant() async throws {
        let store = try #require(SimulatedStore.shared)
        let mutants = try MutationGenerator.all(store)
        #expect(mutants.count >= Limit.mutantsMinimum)
        #expect(Set(mutants.map(\.family)) == Set(Mutant.Family.allCases))
        let apple = try Vectors.bytes("certificates/apple-root-ca-g3-2039-04-30-63343abf.der")
        let root = try CertificateAuthority.encoded(store.authority.root)
        guard let theirs = try await AppleJudge.verdicts(mutants, roots: [apple, root]) else {
            FileHandle.standardError.write(
                Data("SKIPPED: Apple's library could not be installed here (python3, network): see above\n".utf8))
            return
        }
        #expect(theirs.count == mutants.count)
        let ours = verdicts(mutants, roots: store.roots.union(.appleRootG3))
        var summary = Summary()
        for (mutant, (our, their)) in zip(mutants, zip(ours, theirs)) {
            summary.add(.init(mutant: mutant, ours: our, theirs: their))
        }
        #expect(summary.acceptedByBoth >= Limit.acceptedMinimum)
        for line in summary.unexplained.prefix(Limit.shown) { Issue.record("\(line)") }
        #expect(summary.unexplained.count == 0)
        for difference in MutationDifference.accepted + MutationDifference.refused {
            #expect(summary.counts[difference.name, default: 0] > 0, "\(difference.name): no mutant differs like this")
        }
        print("\(mutants.count) mutants, \(summary.acceptedByBoth) accepted by both; differences: \(summary.counts)")
    }

    /// What our verifier says: one that has seen nothing, and one that has seen everything; they must agree.
    private func verdicts(_ mutants: [Mutant], roots: TrustedRoots) -> [MutationVerdict] {
        let knowing = SignedDataVerifier(roots: roots)
        return mutants.map { mutant in
            let verdict = CountersignJudge.verdict(mutant, by: SignedDataVerifier(roots: roots))
            #expect(
                CountersignJudge.verdict(mutant, by: knowing).isAccepted == verdict.isAccepted,
                "\(mutant.base.name), \(mutant.what)")
            return verdict
        }
    }

    @Test("each class of differences is explained in the README")
    func explained() throws {
        let readme = try String(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .appendingPathComponent("AppleLibrary/README.md"), encoding: .utf8)
        let names =
            (MutationDifference.accepted + MutationDifference.refused).map(\.name)
            + ReceiptDifference.all.map(\.name)
        #expect(Set(names).count == names.count)
        for name in names { #expect(readme.contains("| `\(name)` |"), "\(name)") }
    }

    /// How often both agreed, and why they did not.
    private struct Summary {
        var acceptedByBoth = 0
        var counts: [String: Int] = [:]
        var unexplained: [String] = []

        mutating func add(_ finding: MutationDifference.Finding) {
            if case .accepted(let our) = finding.ours, case .accepted(let their) = finding.theirs {
                acceptedByBoth += 1
                if !Self.agree(our, their) { note(finding, "read differently: \(our.values) and \(their.values)") }
                return
            }
            guard finding.ours.isAccepted != finding.theirs.isAccepted else { return }
            let reasons = finding.ours.isAccepted ? MutationDifference.accepted : MutationDifference.refused
            if let reason = reasons.first(where: { $0.explains(finding) }) {
                counts[reason.name, default: 0] += 1
            } else {
                note(finding, "ours: \(finding.ours), theirs: \(finding.theirs)")
            }
        }

        private mutating func note(_ finding: MutationDifference.Finding, _ what: String) {
            let mutant = finding.mutant
            unexplained.append(
                "\(mutant.family), \(mutant.base.name), taken for \(mutant.kind), \(mutant.what): \(what); "
                    + Data(mutant.jws).base64EncodedString())
        }

        /// Whether both read the same, but for what we could not read and Python converted.
        private static func agree(_ our: MutationReading, _ their: MutationReading) -> Bool {
            let left = Set(our.unreadable.map { $0.lowercased() })
            return Set(our.values.keys).union(their.values.keys).allSatisfy { name in
                let field = name.hasPrefix("raw") ? String(name.dropFirst(3)) : name
                return our.values[name] == their.values[name]
                    || our.values[name] == nil && left.contains(field.lowercased())
            }
        }
    }
}
