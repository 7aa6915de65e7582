import AppStore
import LogTesting
import Logging
import Testing

@testable import ServiceRuntime
@testable import TrustedRootSettings

@Suite("Whom a process believes") struct TrustedRootSettingsTests {
    private static let foreign = String(repeating: "ab", count: 32)
    private static let apples = TrustedRoots.appleRootG3.fingerprints.union(TrustedRoots.appleRoot.fingerprints)

    private func trusted(_ use: RootUse, _ settings: [String: String]) throws -> TrustedRoots {
        try TrustedRootSettings.trusted(SettingReader(settings), for: use)
    }

    @Test("without settings it is Apple's root of each, and no other")
    func defaults() throws {
        #expect(try trusted(.signedData, [:]) == .appleRootG3)
        #expect(try trusted(.receipts, [:]) == .appleRoot)
        #expect(TrustedRoots.appleRootG3.foreign.isEmpty && TrustedRoots.appleRoot.foreign.isEmpty)
    }

    @Test("Apple's roots may be listed, and each for the other use", arguments: RootUse.allCases)
    func applesOwn(use: RootUse) throws {
        let roots = try trusted(use, [use.key: Self.apples.map { $0.uppercased() }.joined(separator: ",")])
        #expect(roots.fingerprints == Self.apples)
    }

    @Test("another root is refused with a sentence that names its setting and the switch", arguments: RootUse.allCases)
    func refused(use: RootUse) throws {
        for list in [Self.foreign, "\(Self.apples.joined(separator: ",")),\(Self.foreign)"] {
            for word in ["refused", " "] {
                #expect {
                    try trusted(use, [use.key: list, "trusted.foreign_roots": word])
                } throws: { error in
                    let sentence = "\(error)"
                    return error is any ConfigurationMistake
                        && sentence.hasPrefix("\(use.variable) has a root that is not Apple's, abababababababab…")
                        && sentence.hasSuffix("COUNTERSIGN_TRUSTED_FOREIGN_ROOTS=allowed.")
                }
            }
        }
    }

    @Test("the switch takes one word, and none that somebody may have meant")
    func words() throws {
        let list = ["trusted.roots": Self.foreign]
        for word in ["true", "yes", "1", "allow"] {
            #expect(throws: SettingError.self) {
                try trusted(.signedData, list.merging(["trusted.foreign_roots": word]) { $1 })
            }
        }
        let roots = try trusted(.signedData, list.merging(["trusted.foreign_roots": "allowed"]) { $1 })
        #expect(roots.foreign == [Self.foreign])
    }

    @Test("what is no fingerprint is a mistake, whatever is allowed")
    func mistakes() {
        #expect(throws: SettingError.self) {
            try trusted(.receipts, ["receipt.roots": "abc", "trusted.foreign_roots": "allowed"])
        }
    }

    @Test("Xcode's certificates are taken where no root of Apple's is trusted, and refuse the start everywhere else")
    func xcode() throws {
        let xcode = ["xcode.certificates": String(repeating: "cd", count: 32)]
        let simulator = ["trusted.roots": Self.foreign, "receipt.roots": Self.foreign]
        func taken(_ settings: [String: String]) throws -> TrustedRoots? {
            try TrustedRootSettings.xcode(SettingReader(settings.merging(xcode) { $1 }))
        }
        #expect(try TrustedRootSettings.xcode(SettingReader([:])) == nil)
        let allowed = simulator.merging(["trusted.foreign_roots": "allowed"]) { $1 }
        #expect(try taken(allowed)?.fingerprints == [String(repeating: "cd", count: 32)])
        var refused = [[:], simulator, ["trusted.foreign_roots": "allowed"]]
        for use in RootUse.allCases {
            refused.append(allowed.filter { $0.key != use.key })
            for root in Self.apples { refused.append(allowed.merging([use.key: "\(Self.foreign),\(root)"]) { $1 }) }
        }
        for settings in refused {
            #expect {
                try taken(settings)
            } throws: { error in
                error is any ConfigurationMistake
                    && "\(error)".hasPrefix("COUNTERSIGN_XCODE_CERTIFICATES is for development servers alone")
            }
        }
        #expect(throws: SettingError.self) {
            try TrustedRootSettings.xcode(SettingReader(allowed.merging(["xcode.certificates": "abc"]) { $1 }))
        }
    }

    @Test("a development server says so at each start, and counts what it takes")
    func development() throws {
        let log = CapturedLog()
        let metrics = PrometheusMetrics()
        metrics.describe(ForeignRootReport.families)
        ForeignRootReport.tell(
            [.signedData: .appleRootG3], xcode: try TrustedRoots(fingerprints: [Self.foreign]), metrics: metrics,
            logger: log.logger())
        let line = try #require(log.texts(.warning).first)
        #expect(line.hasPrefix("DEVELOPMENT SERVER") && line.contains("root=\(Self.foreign)"))
        #expect(metrics.render().contains("countersign_foreign_roots{use=\"xcode\"} 1\n"))
    }

    @Test("each foreign root is a warning at the start, and counted from then on; Apple's are neither")
    func report() throws {
        let log = CapturedLog()
        let metrics = PrometheusMetrics()
        metrics.describe(ForeignRootReport.families)
        let roots = try TrustedRoots(fingerprints: [Self.foreign]).union(.appleRootG3)
        ForeignRootReport.tell(
            [.signedData: roots, .receipts: .appleRoot], metrics: metrics, logger: log.logger())
        #expect(log.texts.count == 1)
        let line = try #require(log.texts(.warning).first)
        #expect(line.hasPrefix("a root that is not Apple's is trusted"))
        #expect(line.contains("root=\(Self.foreign)") && line.contains("reason=COUNTERSIGN_TRUSTED_ROOTS"))
        let page = metrics.render()
        #expect(page.contains("countersign_foreign_roots{use=\"signed_data\"} 1\n"))
        #expect(page.contains("countersign_foreign_roots{use=\"receipts\"} 0\n"))
    }
}
