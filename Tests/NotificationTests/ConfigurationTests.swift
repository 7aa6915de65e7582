import Foundation
import ServiceRuntime
import Testing

@testable import Notification

/// Whether the process starts without a webhooks file.
struct ConfigurationTests {
    private func configuration(_ more: [String: String]) throws -> Configuration {
        let needed = [
            "kafka.bootstrap_servers": "127.0.0.1:1", "postgres.url": "postgres://user@127.0.0.1/database",
        ]
        return try Configuration(SettingReader(needed.merging(more) { $1 }))
    }

    @Test func withoutAFileItRefusesWithOneSentence() {
        let sentence = """
            COUNTERSIGN_WEBHOOKS_FILE (webhooks.file in the configuration file) is required but not set: it must be the path \
            of the webhooks file, unless COUNTERSIGN_WEBHOOKS=none says that no webhooks are meant.
            """
        for more in [[:], ["webhooks.file": "  "]] {
            #expect {
                _ = try configuration(more)
            } throws: {
                ($0 as? SettingError)?.description == sentence
            }
        }
    }

    @Test func withoutAFileItStartsWhenThatIsMeant() throws {
        for word in ["none", "None"] {
            let configuration = try configuration(["webhooks": word])
            #expect(configuration.webhooks?.path == nil)
            #expect(configuration.endpoints.isEmpty)
        }
    }

    @Test func withAFileItHasItsEndpoints() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "webhooks-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        try "endpoints: []".write(to: file, atomically: true, encoding: .utf8)
        #expect(try configuration(["webhooks.file": file.path]).webhooks?.path == file.path)
        #expect(throws: SettingError.self) {
            try configuration(["webhooks.file": file.path, "webhooks": "none"])
        }
        #expect(throws: SettingError.self) { try configuration(["webhooks": file.path]) }
    }
}
