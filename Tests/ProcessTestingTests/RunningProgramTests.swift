import Foundation
import ProcessTesting
import Testing

@Suite("Running programs", .timeLimit(.minutes(1)))
struct RunningProgramTests {
    /// Of a task: its thread is of the pool, which blocks SIGTERM.
    @Test func `SIGTERM reaches a program that a task started`() async throws {
        let ended = try await Program(path: "/bin/sleep", arguments: ["600"]).start().stop()
        #expect(ended.wasKilled && ended.status == SIGTERM)
    }

    @Test func `a program that does not leave is killed when its time is over`() async throws {
        let program = Program(
            path: "/bin/sh", arguments: ["-c", "echo deaf; trap '' TERM; while :; do sleep 0.1; done"])
        let ended = try await program.run(within: .seconds(1))
        #expect(ended.wasKilled && ended.status == SIGKILL)
        #expect(ended.output == "deaf\n")
    }
}
