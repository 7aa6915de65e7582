import Foundation
import HTTPTypes
import Hummingbird

/// `trigger`: every notification that there is, on demand.
struct TriggerRoutes: Sendable {
    let store: Store

    func addRoutes(to group: RouterGroup<BasicRequestContext>) {
        group.get("trigger") { _, _ in
            var json = JSONText()
            json.add("triggers", json: "[\(TriggerKind.all.map(\.description).joined(separator: ","))]")
            return ControlAnswer.json(json.object)
        }
        group.post("trigger") { request, _ in
            let body = try await ControlBody.bytes(of: request)
            let trigger = try TriggerBody.trigger(body)
            let rows = try await store.change { state, now in try trigger.perform(in: &state, now: now) }
            return ControlAnswer.json("{\"notifications\":[\(rows.map(\.description).joined(separator: ","))]}")
        }
    }
}

extension TriggerKind {
    /// As an element of an answer; JSON.
    var description: String {
        var json = JSONText()
        json.add("notificationType", type.rawValue)
        json.add("subtype", subtype?.rawValue)
        json.add("plays", summary)
        return json.object
    }
}

/// The body of `POST trigger`, without what is replaced: that is read as it stands.
private struct TriggerBody: Decodable {
    var notificationType: String
    var subtype: String?
    var bundleId: String?
    var environment: String?
    var account: String?
    var force: Bool?

    static func trigger(_ body: Data) throws(Problem) -> Trigger {
        let request = try ControlBody.decode(TriggerBody.self, body)
        var overrides: [OrderedJSON.Field] = []
        if let override = OrderedJSON([UInt8](body))?["override"] {
            guard case .object(let fields) = override else {
                throw Problem(.badRequest, "override: an object of paths and values")
            }
            overrides = fields
        }
        return try Trigger(
            type: request.notificationType, subtype: request.subtype, bundleId: request.bundleId,
            environment: try FieldCheck.environment(request.environment), account: request.account,
            overrides: overrides, isForced: request.force ?? false)
    }
}
