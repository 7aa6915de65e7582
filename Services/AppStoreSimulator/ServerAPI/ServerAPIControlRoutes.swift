import Foundation
import Hummingbird

/// What the control API has to say about the App Store Server API: its rate limits, and what it was told.
struct ServerAPIControlRoutes: Sendable {
    enum Limit {
        /// Consumption answers of one answer, the latest.
        static let answers = 1_000
    }

    /// The body of `PUT rate-limits`; what is left out stays as it is.
    private struct RateLimitRequest: Decodable {
        let enabled: Bool?
        let factor: Double?
    }

    let store: Store
    let limiter: RateLimiter

    func addRoutes(to group: RouterGroup<BasicRequestContext>) {
        group.get("rate-limits") { _, _ in try ControlAnswer.encoded(limiter.setting) }
        group.put("rate-limits") { request, _ in
            let body = try await ControlBody.decode(RateLimitRequest.self, from: request)
            var setting = limiter.setting
            setting.enabled = body.enabled ?? setting.enabled
            setting.factor = body.factor ?? setting.factor
            guard setting.factor > 0, setting.factor <= RateLimiter.Limit.factor else {
                throw Problem(.badRequest, "factor: more than 0, at most \(Int(RateLimiter.Limit.factor))")
            }
            limiter.setting = setting
            return try ControlAnswer.encoded(setting)
        }
        group.get("consumption-answers") { request, _ in
            let transactionId = request.uri.queryParameters.get("transactionId")
            let answers = await store.read { state in
                state.consumptionAnswers.rows.values
                    .filter { transactionId == nil || $0.transactionId == transactionId }
                    .sorted { ($0.id.utf8.count, $0.id) < ($1.id.utf8.count, $1.id) }
            }
            var json = JSONText()
            let texts = answers.suffix(Limit.answers).map(Self.text)
            json.add("consumptionAnswers", json: "[\(texts.joined(separator: ","))]")
            return ControlAnswer.json(json.object)
        }
    }

    private static func text(_ answer: ConsumptionAnswerRecord) -> String {
        var json = JSONText()
        json.add("id", answer.id)
        json.add("transactionId", answer.transactionId)
        json.add("environment", answer.environment.rawValue)
        json.add("version", Int64(answer.version))
        json.add("receivedDate", answer.receivedDate)
        json.add("body", json: answer.body)
        return json.object
    }
}
