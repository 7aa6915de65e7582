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
            of the webhooks file, unless COUNTERSIGN_WEBHOOKS=database says that all endpoints are in the database, or \
            COUNTERSIGN_WEBHOOKS=none that no webhooks are meant.
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

    @Test func endpointsInTheDatabaseAloneNeedTheirKey() throws {
        let key = Data(repeating: 7, count: 32).base64EncodedString()
        for word in ["database", "Database"] {
            #expect(throws: SettingError.self) { try configuration(["webhooks": word]) }
            let read = try configuration(["webhooks": word, "webhooks.key": key])
            #expect(read.webhooks?.path == nil && read.seal != nil)
            #expect(!read.allowsPrivateAddresses)
        }
        for bad in ["short", Data(count: 31).base64EncodedString(), "\(key) \(key)x"] {
            #expect {
                _ = try configuration(["webhooks": "none", "webhooks.key": bad])
            } throws: {
                ($0 as? SettingError)?.description.contains("openssl rand -base64 32") == true
                    && !"\($0)".contains(bad)
            }
        }
        #expect(
            try configuration(["webhooks": "none", "webhooks.private_addresses": "allowed"]).allowsPrivateAddresses)
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
