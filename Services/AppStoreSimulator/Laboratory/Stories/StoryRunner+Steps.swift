import Foundation
import NIOHTTP1

extension StoryRunner {
    /// Does what a step says.
    ///
    /// - Throws: `StoryScope.Unknown`, `ToolFailure`.
    func perform(_ step: StoryStep) async throws -> StoryAnswer {
        let fields = try scope.resolve(.map(step.fields)).map ?? [:]
        switch step.action.call {
        case .control(let method, let path):
            return try await callControl(step.action, method, path, fields)
        case .runner(let special):
            return try await perform(special, fields)
        }
    }

    private func callControl(
        _ action: StoryAction, _ method: String, _ pattern: String, _ fields: [String: JSONValue]
    ) async throws -> StoryAnswer {
        var fields = fields
        var path = pattern.replacingOccurrences(of: "{bundleId}", with: ControlClient.escaped(scope.bundleId))
        var body: [String: JSONValue] = action.namesApp ? ["bundleId": .text(scope.bundleId)] : [:]
        if action.fields.contains(where: { $0.kind == .environment }) { body["environment"] = .text(story.environment) }
        for field in action.fields {
            guard var value = fields.removeValue(forKey: field.name) else { continue }
            if field.kind == .account || field.kind == .device { value = named(value) }
            let place = "{\(field.name)}"
            if path.contains(place) {
                path = path.replacingOccurrences(of: place, with: ControlClient.escaped(value.plain))
            } else {
                body[field.sentAs ?? field.name] = value
            }
        }
        if action.name == "account", let family = fields["family"]?.text, !family.isEmpty {
            fields["family"] = .text(scope.unique(family))
        }
        body.merge(fields) { _, open in open }
        guard method == "GET" else {
            return StoryAnswer(try await control.call(HTTPMethod(rawValue: method), path, body: .map(body)))
        }
        let query = body.sorted { $0.key < $1.key }.map { "\($0.key)=\(ControlClient.escaped($0.value.plain))" }
        return StoryAnswer(
            try await control.call(.GET, query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"))
    }

    /// An account's or a device's id in this run; one that came from another step is an id already.
    private func named(_ value: JSONValue) -> JSONValue {
        guard let name = value.text, (story.accounts + story.devices).contains(where: { $0.name == name }) else {
            return value
        }
        return .text(scope.unique(name))
    }

    private func perform(
        _ special: StoryAction.Special, _ fields: [String: JSONValue]
    ) async throws -> StoryAnswer {
        switch special {
        case .setClock:
            var instant = fields["to"] ?? .null
            if let text = instant.text, let milliseconds = StoryInstant.milliseconds(text) {
                instant = .whole(milliseconds)
            }
            return StoryAnswer(try await control.call(.PUT, "clock", body: .map(["now": instant])))
        case .faults:
            if fields["off"] != nil { return StoryAnswer(try await control.call(.DELETE, "faults")) }
            return StoryAnswer(try await control.call(.PUT, "faults", body: .map(fields)))
        case .api:
            let (method, path) = Self.request(fields)
            let token = fields["token"]?.text.flatMap(AppleClient.TokenKind.init) ?? .good
            return try await callApple(method, path, fields["environment"], fields["body"], token)
        case .verifyReceipt: return try await verify(fields)
        case .receiver:
            var script = ReceiverScript()
            if let answers = fields["answers"]?.list {
                script.answers = answers.compactMap { $0.double.map { Int($0) } }
            } else {
                script.always = fields["answers"]?.double.map { Int($0) } ?? 200
            }
            await receiver?.follow(script)
            return StoryAnswer()
        case .control:
            let (method, path) = Self.request(fields)
            let relative = path.hasPrefix("/simulator/v1/") ? String(path.dropFirst(14)) : path
            return StoryAnswer(try await control.call(method, relative, body: fields["body"]))
        case .backend:
            guard let backend = stage.backend else { return StoryAnswer() }
            return try await backend.call(fields, bundleId: scope.bundleId, account: fields["account"].map(named)?.text)
        }
    }

    private static func request(_ fields: [String: JSONValue]) -> (HTTPMethod, String) {
        for (name, method) in [("get", HTTPMethod.GET), ("post", .POST), ("put", .PUT), ("delete", .DELETE)] {
            if let path = fields[name] { return (method, path.plain) }
        }
        return (.GET, "/")
    }

    /// Asks one of Apple's hosts; that nobody answers is an answer too.
    func callApple(
        _ method: HTTPMethod, _ path: String, _ environment: JSONValue?, _ body: JSONValue?,
        _ token: AppleClient.TokenKind?
    ) async throws -> StoryAnswer {
        do {
            return StoryAnswer(
                try await apple.call(
                    method, path, environment: environment?.text ?? story.environment, body: body, token: token))
        } catch let failure as ToolFailure {
            throw failure
        } catch {
            var answer = StoryAnswer()
            answer.unreachable = "\(error)"
            return answer
        }
    }

    private func verify(_ fields: [String: JSONValue]) async throws -> StoryAnswer {
        var body: [String: JSONValue] = ["receipt-data": fields["receipt"] ?? .null]
        body["password"] = try fields["password"] ?? story.app["sharedSecret"].map(scope.resolve)
        body["exclude-old-transactions"] = fields["excludeOldTransactions"]
        return try await callApple(.POST, "/verifyReceipt", fields["environment"], .map(body), nil)
    }

    /// The next page of the app's notifications.
    func notifications(after: Int64) async throws -> [JSONValue] {
        let query = "bundleId=\(ControlClient.escaped(scope.bundleId))&after=\(after)&limit=\(Limit.page)"
        return try await control.value(.GET, "notifications?\(query)")["notifications"]?.list ?? []
    }

    static func sequence(_ notification: JSONValue) -> Int64? {
        notification["sequence"]?.whole
    }
}
