import Foundation
import ProcessTesting
import Testing

/// Apple's own Python library against the simulator's executable: `Tests/AppleLibrary`.
@Suite("Apple's library")
struct AppleLibraryTests {
    /// What `run` says when the library cannot be installed here.
    private static let skipped: Int32 = 77

    private static let script = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("AppleLibrary/run")

    private static let isPrepared = ProcessInfo.processInfo.environment["COUNTERSIGN_BIN_DIR"] != nil

    @Test(
        "verifies and decodes everything, and every call of its client works",
        .enabled(if: isPrepared, "SKIPPED: COUNTERSIGN_BIN_DIR is not set; it names the folder of app-store-simulator"))
    func everything() async throws {
        let status = try await Program(path: Self.script.path, output: .shown).run().status
        if status == Self.skipped {
            FileHandle.standardError.write(
                Data("SKIPPED: Apple's library could not be installed here (python3, network): see above\n".utf8))
        } else {
            #expect(status == 0, "a check of Tests/AppleLibrary failed: see above")
        }
    }
}
