import Foundation
import NIOHTTP1

extension StoryRunner {
    typealias Failure = StoryReport.Step.Failure

    /// What in a step's answer is not as it must be.
    ///
    /// - Throws: `StoryScope.Unknown`, `ToolFailure`.
    func mismatches(_ step: StoryStep, _ answer: StoryAnswer) async throws -> [Failure] {
        var failures: [Failure] = []
        let expectsStatus = step.expects {
            switch $0 {
            case .status, .errorCode, .problem, .unreachable: true
            default: false
            }
        }
        if !expectsStatus {
            if let reason = answer.unreachable {
                failures.append(Failure(what: "answer", expected: "one", got: reason, line: step.line))
            } else if let status = answer.status, !(200..<300).contains(status) {
                failures.append(
                    Failure(what: "status", expected: "200 to 299", got: answer.complaint, line: step.line))
            }
        }
        for expectation in step.expectations {
            guard var failure = try await mismatch(expectation.subject, step, answer) else { continue }
            failure.line = expectation.line
            failures.append(failure)
        }
        return failures
    }

    private func mismatch(
        _ subject: StoryExpectation.Subject, _ step: StoryStep, _ answer: StoryAnswer
    ) async throws -> Failure? {
        func look(_ what: String, _ matcher: StoryMatcher, _ value: JSONValue?) throws -> Failure? {
            try matcher.mismatch(value, in: scope).map { Failure(what: what, expected: $0.expected, got: $0.got) }
        }
        switch subject {
        case .outcome(let matcher): return try look("outcome", matcher, answer.body["outcome"])
        case .status(let matcher):
            let got = answer.status.map { JSONValue.whole(Int64($0)) }
            return try look("status", matcher, got).map {
                Failure(what: $0.what, expected: $0.expected, got: answer.unreachable ?? answer.complaint)
            }
        case .errorCode(let matcher): return try look("errorCode", matcher, answer.body["errorCode"])
        case .problem(let text):
            let detail = answer.body["detail"]?.text ?? answer.body["title"]?.text ?? answer.complaint
            return detail.contains(text) && (answer.status ?? 0) >= 400
                ? nil : Failure(what: "problem", expected: text, got: detail)
        case .json(let path, let matcher):
            return try look("json \(path)", matcher, path.value(in: answer.body))
        case .header(let name, let matcher):
            return try look("header \(name)", matcher, answer.headers.first(name: name).map(JSONValue.text))
        case .body(let matcher): return try look("body", matcher, .text(answer.text))
        case .unreachable:
            return answer.unreachable == nil ? Failure(what: "answer", expected: "none", got: answer.complaint) : nil
        case .transactions(let ids): return try await receiptMismatch(ids, step, answer)
        case .notifications, .received: return nil
        }
    }

    /// Has the receipt read by `verifyReceipt`, and compares its transactions, in any order.
    private func receiptMismatch(
        _ ids: [JSONValue], _ step: StoryStep, _ answer: StoryAnswer
    ) async throws -> Failure? {
        var body = answer.body
        if let receipt = answer.body["receipt"]?.text {
            var request: [String: JSONValue] = ["receipt-data": .text(receipt)]
            request["password"] = try story.app["sharedSecret"].map(scope.resolve)
            let environment = step.fields["environment"]
            body = try await callApple(.POST, "/verifyReceipt", environment, .map(request), nil).body
        }
        let inApp = body["receipt"]?["in_app"]?.list ?? []
        let got = inApp.compactMap { $0["transaction_id"]?.text }.sorted()
        let expected = try ids.map { try scope.resolve($0).plain }.sorted()
        guard got != expected else { return nil }
        let status = body["status"].map { " (status \($0.plain))" } ?? ""
        return Failure(
            what: "transactions of the receipt", expected: expected.joined(separator: ", "),
            got: (got.isEmpty ? "none" : got.joined(separator: ", ")) + status)
    }

    // MARK: Notifications

    /// What came about in an app that others used before is none of this story's.
    mutating func forgetEarlierNotifications() async throws {
        _ = try await newNotifications()
    }

    private mutating func newNotifications() async throws -> [JSONValue] {
        var new: [JSONValue] = []
        while true {
            let page = try await notifications(after: seenSequence)
            guard let last = page.last.flatMap(Self.sequence) else { return new }
            seenSequence = last
            new += page
        }
    }

    /// The notifications since the last step, compared with those expected.
    mutating func lookAtNotifications(_ step: StoryStep, _ failures: inout [Failure]) async throws -> [JSONValue] {
        var new = try await newNotifications()
        for expectation in step.expectations {
            guard case .notifications(let list) = expectation.subject else { continue }
            // What falls due at this very instant may be a moment late.
            let deadline = ContinuousClock.now + Limit.eventually
            while new.count < list.least, ContinuousClock.now < deadline {
                try await Task.sleep(for: Limit.pause)
                new += try await newNotifications()
            }
            guard var failure = try list.mismatch(new, what: "notifications", in: scope) else { continue }
            failure.line = expectation.line
            failures.append(failure)
        }
        return new
    }

    /// What reached the story's receiver since the last step, compared with what is expected.
    mutating func lookAtReceiver(_ step: StoryStep, _ failures: inout [Failure]) async throws {
        guard let receiver else { return }
        for expectation in step.expectations {
            guard case .received(let list) = expectation.subject else { continue }
            let deadline = ContinuousClock.now + Limit.eventually
            while await receiver.received.count - seenReceived < list.least, ContinuousClock.now < deadline {
                try await Task.sleep(for: Limit.pause)
            }
            let new = Array(await receiver.received.dropFirst(seenReceived))
            guard var failure = try list.mismatch(new, what: "received", in: scope) else { continue }
            failure.line = expectation.line
            failures.append(failure)
        }
        seenReceived = await receiver.received.count
    }
}

extension NotificationList {
    /// How many there are at the least when all is well.
    fileprivate var least: Int { order == .without ? 0 : expected.count }

    /// How what came differs; nil when all is well.
    ///
    /// - Throws: `StoryScope.Unknown`.
    func mismatch(
        _ notifications: [JSONValue], what: String, in scope: StoryScope
    ) throws -> StoryReport.Step.Failure? {
        let names = notifications.map(NotificationName.of)
        let wanted = expected.map(\.type)
        let expectation = wanted.isEmpty ? "none" : StoryRunner.grouped(wanted)
        let got = names.isEmpty ? "none" : StoryRunner.grouped(names)
        func failure(_ prefix: String = "") -> StoryReport.Step.Failure {
            StoryReport.Step.Failure(what: what, expected: prefix + expectation, got: got)
        }
        if order == .without { return names.contains(where: wanted.contains) ? failure("without ") : nil }
        var pairs: [(Expected, JSONValue)] = []
        if order == .exact {
            guard names == wanted else { return failure() }
            pairs = Array(zip(expected, notifications))
        } else {
            var rest = notifications
            for one in expected {
                guard
                    let index = try rest.firstIndex(where: { try one.fits($0, in: scope) })
                        ?? rest.firstIndex(where: { NotificationName.of($0) == one.type })
                else { return failure(order == .contains ? "among others " : "in any order ") }
                pairs.append((one, rest.remove(at: index)))
            }
            guard order == .contains || rest.isEmpty else { return failure("in any order ") }
        }
        for (one, notification) in pairs {
            if let failure = try one.mismatch(notification, what: what, in: scope) { return failure }
        }
        return nil
    }
}

extension NotificationList.Expected {
    fileprivate func fits(_ notification: JSONValue, in scope: StoryScope) throws -> Bool {
        try NotificationName.of(notification) == type && mismatch(notification, what: "", in: scope) == nil
    }

    /// Paths begin at the decoded payload, such as `data.status`.
    fileprivate func mismatch(
        _ notification: JSONValue, what: String, in scope: StoryScope
    ) throws -> StoryReport.Step.Failure? {
        let payload = notification["payload"] ?? notification
        for (path, matcher) in fields {
            if let mismatch = try matcher.mismatch(path.value(in: payload), in: scope) {
                return StoryReport.Step.Failure(
                    what: "\(what): \(type) \(path)", expected: mismatch.expected, got: mismatch.got)
            }
        }
        return nil
    }
}
