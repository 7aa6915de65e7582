import Foundation
import ServiceRuntime
import Testing

@testable import CountersignTool

@Suite("The doctor on keys of subscription offers")
struct OfferKeyFindingTests {
    private func finding(offersKey: String) throws -> Finding {
        let file = FileManager.default.temporaryDirectory.appending(path: "apps-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        try """
        authentication: { jwt: { hs256_secret: "a secret of a test, which has more than 32 bytes" } }
        app_store_server_api: { issuer_id: i, key_id: ONE, private_key_env: KEY }
        subscription_offers: { issuer_id: i, key_id: \(offersKey), private_key_env: KEY }
        apps: [{ bundle_id: com.example.game }]
        """.write(to: file, atomically: true, encoding: .utf8)
        let pem = "-----BEGIN PRIVATE KEY-----\nof a test\n-----END PRIVATE KEY-----"
        return SettingsCheck.judge(try AppsFile.load(path: file.path, environment: ["KEY": pem]))
    }

    @Test("the key to Apple's servers is warned of, where it signs offers, too")
    func shared() throws {
        #expect(try finding(offersKey: "TWO").level == .good)
        let finding = try finding(offersKey: "ONE")
        #expect(finding.level == .warning && finding.detail.contains("com.example.game"))
    }
}
