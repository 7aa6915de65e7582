import AppStore
import Foundation
import ProcessTesting
import Testing
import VectorTesting

@testable import AppStoreSimulator

/// `openssl cms -verify` and our verifier judge the same mutants of receipts; `Tests/AppleLibrary/README.md` explains each
/// class of differences.
@Suite(
    "Mutants of receipts, as openssl judges them",
    .enabled(if: Vectors.areAvailable, Comment(rawValue: Vectors.skipped)),
    .enabled(if: OpenSSLJudge.isAvailable, "SKIPPED: there is no openssl on the PATH"))
struct MutationReceiptTests {
    private enum Limit {
        static let mutantsMinimum = 500
        /// Differences without a reason that are shown whole.
        static let shown = 10
    }

    @Test("every mutant is judged the same, or differs for an explained reason", .timeLimit(.minutes(5)))
    func everyMutant() async throws {
        let bench = try #require(ReceiptBench.shared)
        let mutants = try ReceiptMutationGenerator.all(bench)
        #expect(mutants.count >= Limit.mutantsMinimum)
        #expect(Set(mutants.map(\.place)) == Set(ReceiptMutant.Place.allCases))
        let apple = try Vectors.bytes("certificates/apple-root-ca-2035-02-09-b0b1730e.der")
        let theirs = try await OpenSSLJudge.verdicts(mutants, roots: [apple, try bench.authority.encodedRoot])
        #expect(theirs.count == mutants.count)
        let roots = bench.roots.union(.appleRoot)
        let knowing = ReceiptVerifier(roots: roots)
        var genuine: [String: AppStore.AppReceipt] = [:]
        var counts: [String: Int] = [:]
        var unexplained: [String] = []
        for (mutant, areTheirs) in zip(mutants, theirs) {
            let result = ReceiptVerifier(roots: roots).receipt(mutant.der, app: mutant.app)
            let code = rejection(result)
            #expect(rejection(knowing.receipt(mutant.der, app: mutant.app)) == code)
            if mutant.place == .nowhere {
                #expect(code == nil && areTheirs, "\(mutant.name) is good")
                genuine[mutant.name] = try result.get()
            } else if case .success(let receipt) = result, mutant.place != .signedAnew {
                #expect(receipt == genuine[mutant.name], "\(mutant.name), \(mutant.what): says something else")
            }
            guard (code == nil) != areTheirs else { continue }
            if let reason = ReceiptDifference.all.first(where: { $0.explains(mutant, code) }) {
                counts[reason.name, default: 0] += 1
            } else {
                unexplained.append(
                    "\(mutant.place), \(mutant.name), \(mutant.what): \(code?.rawValue ?? "accepted by us only"); "
                        + Data(mutant.der).base64EncodedString())
            }
        }
        for line in unexplained.prefix(Limit.shown) { Issue.record("\(line)") }
        #expect(unexplained.count == 0)
        for difference in ReceiptDifference.all {
            #expect(counts[difference.name, default: 0] > 0, "\(difference.name): no mutant differs like this")
        }
        print("\(mutants.count) mutants of receipts; differences: \(counts)")
    }
}

/// A reason for which openssl and our verifier judge a receipt differently; the README says of each why.
struct ReceiptDifference: Sendable {
    let name: String
    /// Takes the mutant and our code; nil when we accept.
    let explains: @Sendable (ReceiptMutant, RejectionCode?) -> Bool

    init(_ name: String, _ explains: @escaping @Sendable (ReceiptMutant, RejectionCode?) -> Bool) {
        self.name = name
        self.explains = explains
    }

    /// The first is the only one that we accept and openssl refuses.
    static let all = [
        ReceiptDifference("digest-list") { mutant, code in
            code == nil && mutant.place == .envelope && mutant.isChangedInDigestList
        },
        ReceiptDifference("root-in-list") { mutant, code in
            mutant.place == .certificates
                && (code == .rootNotTrusted || code == .chainInvalid && mutant.what == "without 2")
        },
        ReceiptDifference("not-der") { mutant, code in
            mutant.place == .whole && [.notAReceipt, .receiptXcode].contains(code)
        },
        ReceiptDifference("content-type") { mutant, code in
            mutant.place == .envelope && [.notAReceipt, .certificateCount].contains(code)
        },
        ReceiptDifference("two-signers") { mutant, code in code == .notAReceipt && mutant.what == "two signers" },
        ReceiptDifference("signature-name") { mutant, code in
            mutant.place == .signedAnew && code == .algorithmNotSupported
        },
        ReceiptDifference("apple-markers") { mutant, code in
            mutant.place == .signedAnew && [.leafMarkerMissing, .intermediateMarkerMissing].contains(code)
        },
        ReceiptDifference("any-purpose") { mutant, code in
            code == .chainInvalid && mutant.what == "a leaf that may not sign"
        },
        ReceiptDifference("receipt-content") { mutant, code in
            mutant.place == .signedAnew && code == .payloadUnreadable
        },
    ]
}

extension ReceiptMutant {
    /// Whether the change lies between the version and the content: the list of digests, which nobody signs.
    fileprivate var isChangedInDigestList: Bool {
        // 30 82 ll ll, the type, a0 82 ll ll, 30 82 ll ll, 02 01 01: then the list, up to the content's sequence.
        guard let position = what.split(separator: " ").last.flatMap({ Int($0) }) else { return false }
        return (26..<43).contains(position)
    }
}

/// `openssl cms -verify` as a judge of receipts.
enum OpenSSLJudge {
    /// One shell for all of them; what openssl prints about each is left out.
    ///
    /// The purpose is any, since Apple's leaves are not for mail; the level 0, since chains up to 2023 are signed with
    /// SHA-1; the time is that of the receipt's creation; nothing but the given roots is trusted.
    private static let script = """
        while read -r time file; do
            if openssl cms -verify -inform DER -in "$file" -CAfile roots.pem -no-CApath -no-CAstore -purpose any \\
                -auth_level 0 -attime "$time" -out /dev/null >/dev/null 2>&1
            then echo good; else echo bad; fi
        done <list
        """

    static let isAvailable = Program.find("openssl") != nil

    /// Whether each is accepted, in the order of the mutants.
    ///
    /// - Parameter roots: the trusted root certificates in DER.
    static func verdicts(_ mutants: [ReceiptMutant], roots: [[UInt8]]) async throws -> [Bool] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mutants-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let pem = roots.map {
            let text = Data($0).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
            return "-----BEGIN CERTIFICATE-----\n\(text)\n-----END CERTIFICATE-----\n"
        }
        try Data(pem.joined().utf8).write(to: folder.appendingPathComponent("roots.pem"))
        var list = ""
        for (index, mutant) in mutants.enumerated() {
            try Data(mutant.der).write(to: folder.appendingPathComponent("\(index).der"))
            list += "\(Int64(mutant.date.timeIntervalSince1970)) \(index).der\n"
        }
        try Data(list.utf8).write(to: folder.appendingPathComponent("list"))
        let judged = try await Program(
            path: "/bin/sh", arguments: ["-c", script], folder: folder, output: .errorsShown
        ).run()
        guard judged.isGood else { throw JudgeFailure(status: judged.status) }
        return judged.output.split(separator: "\n").map { $0 == "good" }
    }
}
