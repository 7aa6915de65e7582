import Foundation
import ProcessTesting

/// Times that a test waits for, in a stack of its own.
struct StackTimes: Sendable {
    /// After how long the others take over the partitions of a process that died; the least that Kafka allows.
    static let session = Duration.seconds(6)
    /// How often a consumer asks its group's coordinator, and so hears of a rebalance.
    static let heartbeat = min(session / 4, .milliseconds(500))

    /// After how long what has no outcome is sent again.
    var submissionLease = Duration.seconds(10)

    var environment: [String: String] {
        [
            "COUNTERSIGN_KAFKA_SESSION_TIMEOUT": "\(Self.session.components.seconds)",
            "COUNTERSIGN_SUBMISSION_LEASE": "\(submissionLease.components.seconds)",
            "COUNTERSIGN_EVENT_LEASE": "10", "COUNTERSIGN_DELIVERY_TIMEOUT": "5", "COUNTERSIGN_DELIVERY_LEASE": "15",
        ]
    }
}

/// Runs a body with a stack of its own, so that the shared one keeps its groups, and removes it afterwards.
///
/// What its processes logged goes to the shared stack's logs, which `deploy/test` keeps.
func withStack(
    on broker: Broker, times: StackTimes = StackTimes(),
    _ body: (Stack, IntakeClient, Database) async throws -> Void
) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "stack-\(UUID().uuidString.prefix(8))")
    var environment = times.environment
    environment["COUNTERSIGN_STACK_BROKER"] = broker.rawValue
    // A broker that somebody named is for the shared stack.
    environment["COUNTERSIGN_KAFKA"] = ""
    environment["COUNTERSIGN_STACK_KAFKA_PROPERTIES"] = ""
    environment["COUNTERSIGN_STACK_TEMPLATES"] = Stack.root.appending(path: "Tests/Fixtures/stack").path
    do {
        _ = try await Stack.run(["--broker", broker.rawValue, "up"], folder, environment).result()
        try await using(try await Stack(folder: folder, environment: environment), body)
    } catch {
        await remove(folder, environment, broker)
        throw error
    }
    await remove(folder, environment, broker)
}

/// Keeps the logs, stops what runs and removes the folder; `deploy/test` tries again with what is left.
private func remove(_ folder: URL, _ environment: [String: String], _ broker: Broker) async {
    let files = FileManager.default
    if let shared = Stack.sharedFolder?.appending(path: "logs") {
        for name in (try? files.contentsOfDirectory(atPath: folder.appending(path: "logs").path)) ?? [] {
            try? files.copyItem(
                at: folder.appending(path: "logs/\(name)"),
                to: shared.appending(path: "\(folder.lastPathComponent)-\(broker.rawValue)-\(name)"))
        }
    }
    if (try? await Stack.run(["destroy"], folder, environment).result()) == nil {
        print("could not remove \(folder.path)")
    }
}
