import ArgumentParser
import Foundation
import NIOHTTP1

/// What `app-store-simulator trigger` asks of the simulator.
struct TriggerRequest: Sendable {
    enum Limit {
        /// Fields that are changed at once.
        static let overrides = 50
        /// How long the attempt to deliver is waited for: the simulator gives a receiver five seconds.
        static let delivery = Duration.seconds(7)
        /// Between two looks.
        static let pause = Duration.milliseconds(100)
    }

    let body: JSONValue

    /// A notification, and what came of its first delivery.
    struct Sent: Encodable, Sendable {
        let notificationType: String
        let subtype: String?
        let notificationUUID: String
        let environment: String
        let bundleId: String
        let transactionId: String?
        /// Where it was sent; nil when the app has no URL.
        let url: String?
        /// Apple's `sendAttemptResult`; nil when nothing was attempted within some seconds.
        let result: String?

        /// Some lines for people.
        var text: String {
            let name = subtype.map { "\(notificationType)/\($0)" } ?? notificationType
            let about = transactionId.map { "  transaction \($0)" } ?? ""
            let delivery =
                url.map { "\(result ?? "not delivered yet")  POST \($0)" }
                ?? "kept, not sent: \(bundleId) has no notification URL for \(environment)"
            return "--> \(name)  [\(notificationUUID)]  \(environment) \(bundleId)\(about)\n<-- \(delivery)"
        }
    }

    /// - Throws: `ValidationError`.
    init(
        type: String, subtype: String?, bundleId: String?, environment: String?, account: String?, overrides: [String]
    ) throws {
        var body: [String: JSONValue] = ["notificationType": .text(type)]
        body["subtype"] = subtype.map(JSONValue.text)
        body["bundleId"] = bundleId.map(JSONValue.text)
        body["environment"] = environment.map(JSONValue.text)
        body["account"] = account.map(JSONValue.text)
        if !overrides.isEmpty {
            let pairs = try overrides.map(Self.override)
            body["override"] = .map(Dictionary(pairs, uniquingKeysWith: { _, last in last }))
        }
        self.body = .map(body)
    }

    /// Refuses types and subtypes that Apple does not have.
    ///
    /// - Throws: `ValidationError`.
    static func check(_ type: String, _ subtype: String?) throws {
        guard let subtypes = TriggerKind.subtypes(of: type.uppercased()) else {
            throw ValidationError("no notification type is \"\(type)\"; --list shows them")
        }
        if let subtype, !subtypes.contains(subtype.uppercased()) {
            let allowed = subtypes.isEmpty ? "no subtype" : subtypes.joined(separator: ", ")
            throw ValidationError("\(type.uppercased()) has \(allowed)")
        }
    }

    /// `data.status=2`: a path, and a value of JSON or else a text.
    ///
    /// - Throws: `ValidationError`.
    static func override(_ text: String) throws -> (String, JSONValue) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, StoryPath(String(parts[0])) != nil else {
            throw ValidationError("--override is PATH=VALUE, such as data.status=2")
        }
        return (String(parts[0]), JSONValue(json: Data(parts[1].utf8)) ?? .text(String(parts[1])))
    }

    /// Asks for it, and waits a little for its delivery.
    ///
    /// - Throws: `ToolFailure`.
    func send(to control: ControlClient) async throws -> [Sent] {
        let answer = try await control.value(.POST, "trigger", body: body)
        guard let made = answer["notifications"]?.list, !made.isEmpty else {
            throw ToolFailure("the simulator at \(control.base) made no notification")
        }
        var sent: [Sent] = []
        for notification in made { sent.append(try await follow(notification, control)) }
        return sent
    }

    private func follow(_ notification: JSONValue, _ control: ControlClient) async throws -> Sent {
        let bundleId = notification["bundleId"]?.text ?? ""
        let environment = notification["environment"]?.text ?? ""
        let app = try await control.value(.GET, "apps/\(ControlClient.escaped(bundleId))")
        let url = app["notificationURLs"]?[environment]?.text
        var result = Self.firstResult(notification)
        let deadline = ContinuousClock.now + Limit.delivery
        while url != nil, result == nil, ContinuousClock.now < deadline {
            try await Task.sleep(for: Limit.pause)
            result = try await Self.look(at: notification, bundleId, control)
        }
        return Sent(
            notificationType: notification["notificationType"]?.text ?? "", subtype: notification["subtype"]?.text,
            notificationUUID: notification["notificationUUID"]?.text ?? "", environment: environment,
            bundleId: bundleId, transactionId: notification["transactionId"]?.text, url: url, result: result)
    }

    private static func look(
        at notification: JSONValue, _ bundleId: String, _ control: ControlClient
    ) async throws -> String? {
        guard case .whole(let sequence) = notification["sequence"] else { return nil }
        let query = "bundleId=\(ControlClient.escaped(bundleId))&after=\(sequence - 1)&limit=1"
        let page = try await control.value(.GET, "notifications?\(query)")
        return page["notifications"]?.list?.first.flatMap(firstResult)
    }

    private static func firstResult(_ notification: JSONValue) -> String? {
        notification["attempts"]?.list?.first?["sendAttemptResult"]?.text
    }
}
