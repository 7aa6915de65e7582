import Foundation
import SimulatorTesting
import Synchronization
import Testing

@testable import AppStoreSimulator

/// Every story that ships comes out as it tells, at a real simulator, in virtual time.
@Suite(.serialized)
struct StoriesRunTests {
    @Test(.enabled(if: RunningSimulator.isThere, RunningSimulator.missing))
    func everyStoryComesOutAsItTells() async throws {
        try await RunningSimulator.run { control in
            for file in try ShippedStories.files() {
                let lines = Lines()
                let stage = StoryRunner.Stage(control: control, show: { lines.add($0) })
                let story = try StoryParser.parse(file: file.path)
                let report = try await StoryRunner.run(story, file: file.lastPathComponent, on: stage)
                #expect(report.passed, "\(lines.text)")
            }
        }
    }

    @Test(.enabled(if: RunningSimulator.isThere, RunningSimulator.missing))
    func aStoryThatTurnsOutOtherwiseSaysWhatCame() async throws {
        let yaml = """
            story: A wrong story
            app: {bundleId: com.example.game, products: [{productId: gems, type: Consumable}]}
            accounts: {alice: {}}
            steps:
              - buy: {account: alice, product: gems}
                as: bought
                expect: {outcome: deferred, notifications: [REFUND]}
              - backend: {purchase: "${bought.signedTransaction}", account: alice}
              - advance: 1s
            """
        try await RunningSimulator.run { control in
            let lines = Lines()
            var stage = StoryRunner.Stage(control: control, show: { lines.add($0) })
            let story = try StoryParser.parse(yaml)
            let report = try await StoryRunner.run(story, file: "wrong.yaml", on: stage)
            #expect(!report.passed && report.steps.map(\.result) == [.failed, .notReached, .notReached])
            #expect(report.steps[0].failures.map(\.what) == ["outcome", "notifications"])
            #expect(report.steps[0].failures.map(\.expected) == ["\"deferred\"", "REFUND"])
            #expect(report.steps[0].failures.map(\.got) == ["\"bought\"", "ONE_TIME_CHARGE"])
            #expect(lines.text.contains("✗ 1. buy alice") && lines.text.contains("(line 7)"))
            #expect(!lines.text.contains("eyJ"))
            stage.keepsGoing = true
            let whole = try await StoryRunner.run(story, file: "wrong.yaml", on: stage)
            #expect(whole.steps.map(\.result) == [.failed, .skipped, .passed])
            #expect(lines.text.contains("SKIPPED"))
        }
    }

    @Test(.enabled(if: RunningSimulator.isThere, RunningSimulator.missing))
    func whatIsTriggeredIsListenedToAndForwarded() async throws {
        try await RunningSimulator.run { control in
            let receiver = StoryReceiver(ReceiverScript())
            let lines = Lines()
            try await StoryReceiver.serving(receiver) { url in
                let listener = NotificationListener(
                    control: control, forwardTo: url, bundleId: "com.example.listened", types: ["REFUND"],
                    printsJSON: true, once: 1, show: { lines.add($0) })
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await listener.listen() }
                    // What comes about before it listens is not shown, so it is triggered when the first line is there.
                    await lines.first()
                    let sent = try await TriggerRequest(
                        type: "REFUND", subtype: nil, bundleId: "com.example.listened", environment: "Production",
                        account: nil, overrides: ["data.status=2"]
                    ).send(to: control)
                    #expect(sent.contains { $0.notificationType == "REFUND" && $0.url == nil && $0.result == nil })
                    try await group.waitForAll()
                }
            }
            let received = await receiver.received
            #expect(received.map(NotificationName.of) == ["REFUND"])
            #expect(StoryPath("payload.data.status")?.value(in: received[0]) == .whole(2))
            #expect(lines.text.contains("--> REFUND  [") && lines.text.contains("<-- [200] POST http://127.0.0.1:"))
            #expect(lines.text.contains("\"signedTransactionInfo\" : {") && !lines.text.contains("eyJ"))
        }
    }
}

/// Lines that were shown.
final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    private let arrivals: AsyncStream<Void>
    private let arrival: AsyncStream<Void>.Continuation

    init() {
        (arrivals, arrival) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func add(_ line: String) {
        lines.withLock { $0.append(line) }
        arrival.yield()
    }

    /// Waits until there is one.
    func first() async {
        _ = await arrivals.first { true }
    }

    var text: String { lines.withLock { $0.joined(separator: "\n") } }
}

/// The real simulator as a process of its own.
enum RunningSimulator {
    static let missing: Comment = "SKIPPED: COUNTERSIGN_BIN_DIR is not set; it names the folder of app-store-simulator"
    static var isThere: Bool { SimulatorProcess.isThere }

    /// Runs the body with the control API of a simulator that begins empty, and ends it afterwards.
    static func run(_ body: (ControlClient) async throws -> Void) async throws {
        try await SimulatorProcess.run { simulator in
            try await HTTPCaller.with(connections: 8) { http in
                try await body(ControlClient(http: http, base: simulator.addresses.control))
            }
        }
    }
}
