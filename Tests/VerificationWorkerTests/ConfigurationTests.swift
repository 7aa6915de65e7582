import AppStore
import Foundation
import ServiceRuntime
import Testing

@testable import VerificationWorker

@Suite("Whom the worker trusts: the settings")
struct ConfigurationTests {
    private static let fingerprint = String(repeating: "ab", count: 32)

    private func configured(_ settings: [String: String]) throws -> Configuration {
        let file = FileManager.default.temporaryDirectory.appending(path: "apps-\(UUID().uuidString).yaml")
        try Data("apps:\n  - bundle_id: com.example.game\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let needed = ["kafka.bootstrap_servers": "a:1", "apps.file": file.path]
        return try Configuration(SettingReader(needed.merging(settings) { $1 }))
    }

    private func refusal(_ settings: [String: String]) -> String? {
        do {
            _ = try configured(settings)
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test("denied certificates are denied of signed data and of receipts, whichever roots are trusted")
    func denied() throws {
        let plain = try configured([:])
        #expect(plain.roots == .appleRootG3 && plain.receiptRoots == .appleRoot)
        let other = String(repeating: "cd", count: 32)
        for key in ["trusted.roots", "receipt.roots"] {
            let configuration = try configured([
                key: other, "trusted.denied_certificates": " \(Self.fingerprint.uppercased()), \(other)",
            ])
            #expect(configuration.roots.denied == [Self.fingerprint, other])
            #expect(configuration.receiptRoots.denied == [Self.fingerprint, other])
        }
    }

    @Test("what is no fingerprint refuses the start, in a sentence that says which one")
    func noFingerprint() throws {
        let sentence = try #require(refusal(["trusted.denied_certificates": "\(Self.fingerprint),tomorrow"]))
        #expect(sentence.contains("COUNTERSIGN_TRUSTED_DENIED_CERTIFICATES"))
        #expect(sentence.contains("fingerprint 2 is not a SHA-256"))
    }

    @Test("the end of SHA-1 is a day in UTC, or none")
    func sha1() throws {
        #expect(try configured([:]).receiptSHA1Until == ReceiptVerifier.sha1Ended)
        #expect(try configured(["receipt.sha1_until": "none"]).receiptSHA1Until == nil)
        let day = try configured(["receipt.sha1_until": "2024-02-29"]).receiptSHA1Until
        #expect(day == Date(timeIntervalSince1970: 1_709_164_800))
        for bad in ["2024-02-30", "2024-2-1", "20240201", "tomorrow", "2024-02-01T00:00:00Z", "1709164800"] {
            #expect(refusal(["receipt.sha1_until": bad])?.contains("COUNTERSIGN_RECEIPT_SHA1_UNTIL") == true, "\(bad)")
        }
    }
}
