import Foundation
import NIOHTTP1

/// Plays a story at the simulator: makes the app and the people, takes the steps, looks at what comes of each.
struct StoryRunner: Sendable {
    enum Limit {
        /// How long a step with `eventually`, or a notification on its way, is waited for.
        static let eventually = Duration.seconds(15)
        /// Between two looks.
        static let pause = Duration.milliseconds(50)
        /// Notifications asked for at a time.
        static let page = 100
    }

    /// Where a story is played.
    struct Stage: Sendable {
        let control: ControlClient
        /// The backend under test, for stories that talk to one; without it those steps are skipped.
        var backend: StoryBackend?
        /// Goes on after a failed step.
        var keepsGoing = false
        /// Told of each step when it is done.
        var show: @Sendable (String) -> Void = { _ in }
    }

    let story: Story
    let stage: Stage
    let receiver: StoryReceiver?
    var apple: AppleClient
    var scope: StoryScope
    /// How many notifications were looked at: the last sequence.
    var seenSequence: Int64 = 0
    var seenReceived = 0
    /// What skipped steps would have kept: whoever needs it is skipped, too.
    private var missing: Set<String> = []

    var control: ControlClient { stage.control }

    /// Plays the story to its end or its first failure.
    ///
    /// - Throws: `ToolFailure` when the simulator is not there.
    static func run(_ story: Story, file: String, on stage: Stage) async throws -> StoryReport {
        var stage = stage
        // Who does not talk to the backend gets an app of its own.
        if !story.usesBackend { stage.backend = nil }
        let chosen = stage
        guard let script = story.receiver else {
            return try await run(story, file: file, on: chosen, receiver: nil, url: chosen.backend?.notificationURL)
        }
        let receiver = StoryReceiver(script)
        let address = StoryReceiver.loopback(besides: chosen.control.base)
        return try await StoryReceiver.serving(receiver, on: address) { url in
            try await run(story, file: file, on: chosen, receiver: receiver, url: url)
        }
    }

    private static func run(
        _ story: Story, file: String, on stage: Stage, receiver: StoryReceiver?, url: String?
    ) async throws -> StoryReport {
        // Random and short: two runs must not meet, and a person has to read it.
        let run = String(UInt32.random(in: 0...UInt32.max), radix: 36)
        // A backend knows the app by its own name.
        let bundleId = stage.backend == nil ? "\(story.bundleId).\(run)" : story.bundleId
        var scope = StoryScope(run: run, bundleId: bundleId)
        scope.receiver = url
        var report = StoryReport(file: file, story: story.name, bundleId: bundleId)
        stage.show(StoryReport.heading(story.name, bundleId))
        let clock = try await stage.control.value(.GET, "clock")
        do {
            let apple = try await StoryStageSetting(story: story, control: stage.control, scope: scope).build(url)
            var runner = StoryRunner(story: story, stage: stage, receiver: receiver, apple: apple, scope: scope)
            try await runner.play(&report)
        } catch let failure as ToolFailure {
            report.problem = failure.description
        } catch {
            report.problem = "\(error)"
        }
        // Also when it was interrupted: a task of its own is not cancelled with this one.
        let leaving = Task { try await leave(bundleId, story, on: stage.control, speed: clock["speed"]) }
        do {
            try await leaving.value
        } catch {
            report.problem = report.problem ?? "\(error)"
        }
        try Task.checkCancellation()
        stage.show(report.summary + "\n")
        return report
    }

    private mutating func play(_ report: inout StoryReport) async throws {
        scope.start = try await now()
        try await forgetEarlierNotifications()
        var hasFailed = false
        for (index, step) in story.steps.enumerated() {
            try Task.checkCancellation()
            var result = StoryReport.Step(number: index + 1, line: step.line, title: step.title)
            if hasFailed && !stage.keepsGoing {
                result.result = .notReached
            } else if case .runner(.backend) = step.action.call, stage.backend == nil {
                result.result = .skipped
            } else {
                try await take(step, &result)
                hasFailed = hasFailed || result.result == .failed
            }
            if result.result == .skipped, let name = step.name { missing.insert(name) }
            if result.result != .notReached { stage.show(result.text) }
            report.steps.append(result)
        }
    }

    /// Takes one step and looks at all that came of it.
    private mutating func take(_ step: StoryStep, _ result: inout StoryReport.Step) async throws {
        scope.now = try await now()
        var answer = StoryAnswer()
        do {
            for round in 1...step.times {
                answer = try await attempt(step, &result.failures)
                guard result.failures.isEmpty else {
                    if step.times > 1 { result.events = "in round \(round)" }
                    break
                }
            }
            let notifications = try await lookAtNotifications(step, &result.failures)
            if let name = step.name { scope.keep(name, answer.kept(with: notifications)) }
            try await lookAtReceiver(step, &result.failures)
            let told = Self.summary(notifications)
            let parts = [answer.outcome, told, result.events].filter { !$0.isEmpty }
            result.events = parts.joined(separator: "  ")
        } catch let error as StoryScope.Unknown where missing.contains(error.root) {
            result.result = .skipped
            return
        } catch let error as StoryScope.Unknown {
            result.failures.append(
                StoryReport.Step.Failure(
                    what: "\(step.action.name)", expected: "${\(error.name)}", got: "nothing", line: step.line))
        }
        if !result.failures.isEmpty { result.result = .failed }
    }

    /// Carries the step out, again for a while when it is told to, until its answer is as expected.
    private mutating func attempt(
        _ step: StoryStep, _ failures: inout [StoryReport.Step.Failure]
    ) async throws -> StoryAnswer {
        let deadline = ContinuousClock.now + Limit.eventually
        while true {
            let answer = try await perform(step)
            if let name = step.name { scope.keep(name, answer.kept) }
            let found = try await mismatches(step, answer)
            guard step.isEventual, !found.isEmpty, ContinuousClock.now < deadline else {
                failures += found
                return answer
            }
            try await Task.sleep(for: Limit.pause)
        }
    }

    func now() async throws -> Int64 {
        guard case .whole(let now) = try await control.value(.GET, "clock")["now"] else {
            throw ToolFailure("the simulator at \(control.base) has no clock; is it one?")
        }
        return now
    }

    /// Leaves the simulator as others want to find it: no faults, nothing sent to a port that is closed.
    private static func leave(
        _ bundleId: String, _ story: Story, on control: ControlClient, speed: JSONValue?
    ) async throws {
        _ = try await control.call(.DELETE, "faults")
        if story.receiver != nil {
            let nowhere = JSONValue.map(["Production": .text(""), "Sandbox": .text("")])
            _ = try await control.value(
                .PUT, "apps/\(ControlClient.escaped(bundleId))", body: .map(["notificationURLs": nowhere]))
        }
        if story.clock != nil, let speed {
            _ = try await control.value(.PUT, "clock", body: .map(["speed": speed]))
        }
    }

    /// `SUBSCRIBED/INITIAL_BUY, DID_RENEW ×6`.
    static func summary(_ notifications: [JSONValue]) -> String {
        grouped(notifications.map(NotificationName.of))
    }

    /// The names with repeats counted.
    static func grouped(_ names: [String]) -> String {
        var groups: [(name: String, count: Int)] = []
        for name in names {
            if let last = groups.last, last.name == name {
                groups[groups.count - 1].count += 1
            } else {
                groups.append((name, 1))
            }
        }
        return groups.map { $0.count == 1 ? $0.name : "\($0.name) ×\($0.count)" }.joined(separator: ", ")
    }
}

/// How notifications are called: `REFUND`, `SUBSCRIBED/INITIAL_BUY`.
enum NotificationName {
    /// Of a notification as the control API shows it, or of a decoded payload.
    static func of(_ notification: JSONValue) -> String {
        let type = notification["notificationType"]?.text ?? notification["payload"]?["notificationType"]?.text ?? "?"
        let subtype = notification["subtype"]?.text ?? notification["payload"]?["subtype"]?.text
        return subtype.map { "\(type)/\($0)" } ?? type
    }
}

/// What a step got for an answer.
struct StoryAnswer: Sendable {
    var status: Int?
    var headers = HTTPHeaders()
    var body = JSONValue.null
    var text = ""
    /// Why nobody answered.
    var unreachable: String?
    /// For the failure message of a bad status.
    var complaint = ""

    init() {}

    init(_ answer: ControlClient.Answer) {
        status = answer.status
        headers = answer.headers
        body = answer.body
        text = answer.text
        complaint = answer.complaint
    }

    /// What is said of it in a report: a sale's outcome, a bad status.
    var outcome: String {
        if unreachable != nil { return "nobody answers" }
        if let outcome = body["outcome"]?.text { return outcome }
        guard let status, status >= 400 else { return "" }
        return body["errorCode"].map { "\(status) \($0.plain)" } ?? "\(status)"
    }

    /// What later steps can refer to: the body, and the fields of its first transaction.
    var kept: JSONValue {
        var map = body.map ?? [:]
        if let first = body["transactions"]?.list?.first?.map { map.merge(first) { own, _ in own } }
        return .map(map)
    }

    func kept(with notifications: [JSONValue]) -> JSONValue {
        var map = kept.map ?? [:]
        map["notifications"] = map["notifications"] ?? .list(notifications)
        return .map(map)
    }
}
