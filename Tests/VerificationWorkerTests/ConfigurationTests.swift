import AppStore
import Foundation
import Messages
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
                key: other, "trusted.foreign_roots": "allowed",
                "trusted.denied_certificates": " \(Self.fingerprint.uppercased()), \(other)",
            ])
            #expect(configuration.roots.denied == [Self.fingerprint, other])
            #expect(configuration.receiptRoots.denied == [Self.fingerprint, other])
        }
    }

    @Test(
        "purchases that Xcode signs are taken by a worker that trusts the simulator alone, and refuse the start of others"
    )
    func xcode() throws {
        let development = [
            "xcode.certificates": Self.fingerprint, "trusted.roots": String(repeating: "cd", count: 32),
            "receipt.roots": String(repeating: "cd", count: 32), "trusted.foreign_roots": "allowed",
        ]
        #expect(try configured(development).xcode?.fingerprints == [Self.fingerprint])
        #expect(try configured([:]).xcode == nil)
        for key in development.keys where key != "xcode.certificates" {
            let sentence = try #require(refusal(development.filter { $0.key != key }))
            #expect(sentence.contains("COUNTERSIGN_"), "\(key)")
        }
        let production = try #require(refusal(["xcode.certificates": Self.fingerprint]))
        #expect(production.hasPrefix("COUNTERSIGN_XCODE_CERTIFICATES is for development servers alone"))
    }

    @Test("what is no fingerprint refuses the start, in a sentence that says which one")
    func noFingerprint() throws {
        let sentence = try #require(refusal(["trusted.denied_certificates": "\(Self.fingerprint),tomorrow"]))
        #expect(sentence.contains("COUNTERSIGN_TRUSTED_DENIED_CERTIFICATES"))
        #expect(sentence.contains("fingerprint 2 is not a SHA-256"))
    }

    @Test("signed data of expired certificates is doubted after thirty days, receipts are not, unless said otherwise")
    func expired() throws {
        let plain = try configured([:]).expired
        #expect(plain.signedData == .doubt && plain.receipts == .accept && plain.tolerance == .seconds(2_592_000))
        let other = try configured([
            "expired_certificates.signed_data": "accept", "expired_certificates.receipts": "doubt",
            "expired_certificates.tolerance": "0",
        ]).expired
        #expect(other.signedData == .accept && other.receipts == .doubt && other.tolerance == .zero)
        let wrong = [("signed_data", "yes"), ("receipts", "refuse"), ("tolerance", "-1"), ("tolerance", "4e8")]
        for (key, value) in wrong {
            let sentence = refusal(["expired_certificates.\(key)": value])
            #expect(sentence?.contains("COUNTERSIGN_EXPIRED_CERTIFICATES") == true, "\(value)")
        }
    }

    @Test("a proof is in doubt by when it came, after the tolerance and not at its end")
    func doubtful() throws {
        var expired = ExpiredCertificates()
        let expiry = Date(timeIntervalSince1970: 1_760_212_312)
        let came = { (seconds: Double) in
            SubmissionMessage(
                submissionId: "s", app: "a", account: "b", kind: .signedTransaction, proof: "", attempt: 0,
                correlationId: "c", receivedAt: expiry + seconds)
        }
        #expect(!expired.areDoubtful(expiry, by: .doubt, came(2_592_000)))
        #expect(expired.areDoubtful(expiry, by: .doubt, came(2_592_001)))
        #expect(!expired.areDoubtful(expiry, by: .accept, came(1e9)))
        expired.now = { expiry + 2_592_001 }
        #expect(!expired.areDoubtful(expiry, by: .doubt, came(-1)), "judged late, posted in time")
        var new = came(0)
        new.receivedAt = nil
        #expect(expired.areDoubtful(expiry, by: .doubt, new))
        expired.tolerance = .zero
        #expect(!expired.areDoubtful(expiry, by: .doubt, came(0)) && expired.areDoubtful(expiry, by: .doubt, came(1)))
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
