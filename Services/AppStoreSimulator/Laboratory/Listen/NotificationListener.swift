import Foundation
import NIOHTTP1

/// Follows the simulator's notifications, shows them, and forwards them one after the other.
struct NotificationListener: Sendable {
    enum Limit {
        /// How long the simulator holds an answer back until there is something, in seconds.
        static let wait = 20
        /// Notifications asked for at a time.
        static let page = 50
        /// How long a server may take for a forwarded notification.
        static let forward = Duration.seconds(10)
        /// Pauses while the simulator cannot be reached: from, to.
        static let pause = (first: Duration.milliseconds(200), last: Duration.seconds(5))
    }

    let control: ControlClient
    let forwardTo: String?
    let bundleId: String?
    /// Empty for all.
    let types: Set<String>
    let printsJSON: Bool
    /// How many are shown before it ends; nil for ever.
    let once: Int?
    let show: @Sendable (String) -> Void

    /// Listens from now on, until it is cancelled or has seen enough.
    ///
    /// - Throws: `CancellationError`; `ToolFailure` when the simulator is not there from the start.
    func listen() async throws {
        var last = try await ask("limit=0").newest
        show("Listening to \(control.base)\(forwardTo.map { ", forwarding to \($0)" } ?? "")")
        var seen = 0
        var pause = Limit.pause.first
        while true {
            try Task.checkCancellation()
            let page: Page
            do {
                page = try await ask(query(after: last))
            } catch {
                try Task.checkCancellation()
                if pause == Limit.pause.first { show("The simulator does not answer; trying on") }
                try await Task.sleep(for: pause)
                pause = min(pause * 2, Limit.pause.last)
                continue
            }
            if pause != Limit.pause.first { show("The simulator answers again") }
            pause = Limit.pause.first
            for notification in page.notifications {
                if case .whole(let sequence) = notification["sequence"] { last = max(last, sequence) }
                guard wants(notification) else { continue }
                await handle(notification)
                seen += 1
                if let once, seen >= once { return }
            }
            // One that came back with an empty store counts from the beginning.
            if page.newest < last { last = 0 }
        }
    }

    private struct Page {
        let notifications: [JSONValue]
        /// The sequence of the newest there is, of any app.
        let newest: Int64
    }

    private func ask(_ query: String) async throws -> Page {
        let answer = try await control.value(
            .GET, "notifications?\(query)", timeout: .seconds(Limit.wait) + Limit.forward)
        guard let notifications = answer["notifications"]?.list, case .whole(let newest) = answer["newest"] else {
            throw ToolFailure("the simulator at \(control.base) lists no notifications; is it one?")
        }
        return Page(notifications: notifications, newest: newest)
    }

    private func query(after sequence: Int64) -> String {
        let app = bundleId.map { "&bundleId=\(ControlClient.escaped($0))" } ?? ""
        return "after=\(sequence)&limit=\(Limit.page)&wait=\(Limit.wait)\(app)"
    }

    private func wants(_ notification: JSONValue) -> Bool {
        types.isEmpty || types.contains(notification["notificationType"]?.text ?? "")
    }

    private func handle(_ notification: JSONValue) async {
        show(Self.line(notification))
        if printsJSON, let payload = notification["payload"] { show(Self.indented(payload)) }
        guard let forwardTo, let signed = notification["signedPayload"] else { return }
        let uuid = notification["notificationUUID"]?.text ?? ""
        let result: String
        do {
            let answer = try await control.http.call(
                .POST, forwardTo, json: Data(JSONValue.map(["signedPayload": signed]).json.utf8),
                timeout: Limit.forward)
            result = "\(answer.status)"
        } catch {
            if Task.isCancelled { return }
            result = ControlClient.plain(error)
        }
        show("\(Self.indentation)  <-- [\(result)] POST \(forwardTo) [\(uuid)]")
    }

    /// As wide as an instant.
    private static let indentation = String(repeating: " ", count: StoryInstant.text(0).count)

    /// `2026-11-21 10:02:33  --> REFUND  [uuid]  tx 2000000000000042`: the time is the store's.
    static func line(_ notification: JSONValue) -> String {
        let time =
            if case .whole(let date) = notification["createdDate"] { StoryInstant.text(date) } else { indentation }
        let uuid = notification["notificationUUID"]?.text ?? ""
        let transaction = notification["transactionId"]?.text.map { "  tx \($0)" } ?? ""
        return "\(time)  --> \(NotificationName.of(notification))  [\(uuid)]\(transaction)"
    }

    /// JSON over lines; nested signed payloads were decoded by the simulator, so what is left of them is left out.
    private static func indented(_ payload: JSONValue) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        guard let data = try? encoder.encode(payload.decodingSignedPayloads) else { return "" }
        return String(decoding: data, as: UTF8.self)
    }
}

extension JSONValue {
    /// The same with each signed payload in its decoded form.
    var decodingSignedPayloads: JSONValue {
        switch self {
        case .text(let text): SignedPayload.decode(text)?.decodingSignedPayloads ?? self
        case .list(let list): .list(list.map(\.decodingSignedPayloads))
        case .map(let map): .map(map.mapValues(\.decodingSignedPayloads))
        default: self
        }
    }
}
