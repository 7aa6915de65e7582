import Foundation
import Messages
import PurchaseModel
import Testing

@testable import AppStore
@testable import VerificationWorker

/// A worker that takes what one machine's Xcode signs.
@Suite(
    "A development server",
    .enabled(if: Simulator.isThere, "SKIPPED: COUNTERSIGN_BIN_DIR is not set"))
struct DevelopmentServerTests {
    @Test("a purchase that Xcode signed is genuine and the sandbox's, and asks nobody; everywhere else it is refused")
    func xcode() async throws {
        try await Stage.run { stage in
            let jws = try await stage.simulator.forgery("xcode_key")
            let submission = SubmissionFixture.make(.signedTransaction, jws)
            let header = try #require(
                CompactJWS(Array(jws.utf8)).flatMap { Base64Decoding.urlSafe(Array(jws.utf8)[$0.header]) })
            let fields = try #require(try JSONSerialization.jsonObject(with: Data(header)) as? [String: Any])
            let text = try #require((fields["x5c"] as? [String])?.first)
            let certificate = Array(try #require(Data(base64Encoded: text)))
            var setup = Setup()
            #expect(try await stage.finding(submission, setup).reason == "environment_xcode")

            setup.xcode = try TrustedRoots(fingerprints: [TrustedRoots.fingerprint(of: certificate)])
            // Nobody revokes it, so nobody is asked about it.
            for asks in [false, true] {
                setup.asksAboutRevocation = asks
                let finding = try await stage.finding(submission, setup)
                #expect(finding.name == "genuine")
                #expect(finding.transactions.map(\.environment) == [.sandbox])
            }
            // An app that takes no purchases of the sandbox takes none of these.
            setup.sandbox = "refuse"
            #expect(try await stage.finding(submission, setup).name == "rejected")

            let sold = try await stage.simulator.sellOne()
            let real = SubmissionFixture.make(.signedTransaction, sold.signedTransaction)
            #expect(
                try await stage.finding(real, Setup(xcode: setup.xcode)).transactions.map(\.environment) == [
                    .production
                ])
        }
    }
}
