import Foundation
import ProcessTesting
import Testing

extension EndToEnd {
    /// The load test `hostile-endpoints` in small, on a stack of its own.
    @Suite("Bad endpoints of webhooks", .timeLimit(.minutes(4)))
    struct HostileEndpointsTests {
        @Test("they cost the others nothing; nothing is lost and no order broken though notification is killed")
        func small() async throws {
            let stack = try await Stack()
            let program = Program(
                path: Stack.root.appending(path: "Tests/Load/hostile-endpoints").path, arguments: ["--small"],
                environment: ["COUNTERSIGN_BIN_DIR": try stack.setting("COUNTERSIGN_BIN_DIR")])
            let result = try await program.run()
            #expect(result.status == 0, "\(result.output.suffix(4_000))")
            #expect(result.output.contains("\nVERDICT: good\n"), "\(result.output.suffix(4_000))")
        }
    }
}
