import Foundation
import Testing

@testable import AppStoreSimulator

/// What the laboratory's commands read from the environment.
@Suite struct LaboratorySettingsTests {
    @Test func anEmptyVariableCountsAsNotSet() {
        let settings = LaboratorySettings(
            environment: ["COUNTERSIGN_SIMULATOR_URL": "", "COUNTERSIGN_RECEIPT_INTAKE_URL": "http://127.0.0.1:8080"])
        #expect(settings.simulatorURL == nil)
        #expect(settings.receiptIntakeURL == "http://127.0.0.1:8080")
    }

    @Test func theKeyIsInItsVariableOrInAFile() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "key-\(UUID().uuidString)")
        try Data("csk_in_a_file\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try LaboratorySettings(environment: ["COUNTERSIGN_API_KEY": "csk_1"]).apiKey() == "csk_1")
        let named = LaboratorySettings(environment: ["COUNTERSIGN_API_KEY_FILE": file.path])
        #expect(try named.apiKey() == "csk_in_a_file")
    }

    @Test(arguments: [
        [:], ["COUNTERSIGN_API_KEY": "csk_1", "COUNTERSIGN_API_KEY_FILE": "/dev/null"],
        ["COUNTERSIGN_API_KEY_FILE": "/nowhere/key"],
    ])
    func noKeyTwoKeysAndNoFileAreFailures(environment: [String: String]) {
        #expect(throws: ToolFailure.self) { try LaboratorySettings(environment: environment).apiKey() }
    }
}
