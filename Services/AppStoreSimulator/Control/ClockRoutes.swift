import Foundation
import HTTPTypes
import Hummingbird

/// The store's time.
struct ClockRoutes: Sendable {
    let store: Store
    let timeline: Timeline

    func addRoutes(to group: RouterGroup<BasicRequestContext>) {
        group.get("clock") { _, _ in answer() }
        group.put("clock") { request, _ in
            let body = try await ControlBody.decode(ClockRequest.self, from: request)
            let latest = store.clock.realNow + VirtualClock.Limit.ahead
            if let instant = body.now?.milliseconds {
                try FieldCheck.require(
                    (VirtualClock.Limit.earliest...latest).contains(instant),
                    "now: from 2016 on, and at most eight years ahead")
            }
            try FieldCheck.require(
                (0...VirtualClock.Limit.speed).contains(body.speed ?? 1), "speed: 0 to \(VirtualClock.Limit.speed)")
            try await store.setClock(body.now?.milliseconds, speed: body.speed)
            return answer()
        }
        group.post("clock/advance") { request, _ in
            let body = try await ControlBody.decode(AdvanceRequest.self, from: request)
            let target = body.by.added(to: store.clock.now)
            try FieldCheck.require(
                target >= store.clock.now && target <= store.clock.realNow + VirtualClock.Limit.ahead,
                "by: at most eight years ahead of real time")
            let advance = try await timeline.advance(to: target)
            return answer(events: advance.events)
        }
    }

    private func answer(events: Int? = nil) -> Response {
        let now = store.clock.now
        var json = JSONText()
        json.add("now", now)
        json.add("text", Date(timeIntervalSince1970: Double(now) / 1_000).formatted(.iso8601))
        json.add("speed", json: String(store.clock.speed))
        json.add("steps", events.map(Int64.init))
        return ControlAnswer.json(json.object)
    }
}

private struct ClockRequest: Decodable, Sendable {
    var now: InstantField?
    var speed: Double?
}

private struct AdvanceRequest: Decodable, Sendable {
    var by: SpanField
}
