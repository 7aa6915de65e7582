import Foundation
import HTTPTypes
import Hummingbird

/// The control API's side of retention messaging: reviewing what was uploaded, and asking a backend for a message.
struct RetentionMessagingRoutes: Sendable {
    let store: Store
    let sender: RealtimeSender

    /// Adds `retention-messaging/…` to the group at `/simulator/v1`.
    func addRoutes<Context: RequestContext>(to group: RouterGroup<Context>) {
        let routes = group.group("retention-messaging")
        routes.post(":identifier/review") { request, context in
            guard let text = context.parameters.get("identifier"), UUID(uuidString: text) != nil else {
                throw Problem(.badRequest, "identifier: the UUID of an image or a message")
            }
            return try await review(text.lowercased(), try await ControlBody.decode(Review.self, from: request))
        }
        routes.post("realtime") { request, _ in
            try await ask(try await ControlBody.decode(Question.self, from: request))
        }
    }

    private struct Review: Decodable {
        let state: String
        let bundleId: String?
        let environment: StoreEnvironment?
    }

    private struct Question: Decodable {
        let originalTransactionId: String
        let userLocale: String?
    }

    private func review(_ identifier: String, _ review: Review) async throws -> Response {
        guard let decision = RetentionState(rawValue: review.state) else {
            let names = RetentionState.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem(.badRequest, "state: one of \(names)")
        }
        let environments = review.environment.map { [$0] } ?? StoreEnvironment.allCases
        let count = try await store.change { [bundleId = review.bundleId] state, _ in
            try state.reviewRetention(identifier, decision, bundleId: bundleId, environments: environments)
        }
        guard count > 0 else { throw Problem(.notFound, "identifier: no such image or message") }
        var json = JSONText()
        json.add("reviewed", Int64(count))
        return ControlAnswer.json(json.object)
    }

    /// Plays a customer who opens the page on which subscriptions are cancelled.
    private func ask(_ question: Question) async throws -> Response {
        let locale = question.userLocale ?? PerformanceTestRoutes.locale
        guard RetentionIdentifier.isLocale(locale) else {
            throw Problem(.badRequest, "userLocale: a language and a region, such as en-US")
        }
        let id = question.originalTransactionId
        let (subscription, app, url) = try await store.read { state in
            guard let subscription = state.subscriptions[id], let app = state.apps[subscription.bundleId] else {
                throw Problem(.notFound, "originalTransactionId: no such subscription")
            }
            let url = state.retentionItem(
                RetentionURL.self, of: subscription.bundleId, in: subscription.environment)
            return (subscription, app, url)
        }
        let request = RealtimeRequest(
            originalTransactionId: id, appAppleId: app.appAppleId, productId: subscription.productId,
            userLocale: locale, environment: subscription.environment)
        let signed = try sender.sign(request)
        var answer: RealtimeAnswer?
        if let url { answer = await sender.post(signed, to: url.realtimeURL) }
        let chosen = answer?.messageIdentifier
        let now = store.clock.now
        let shown = await store.read { state in
            state.shownMessage(chosen, request, of: app.bundleId, now: now)
        }
        var json = JSONText()
        json.add("requestIdentifier", request.requestIdentifier)
        json.add("signedPayload", signed)
        json.add("url", url?.realtimeURL)
        json.add("result", answer?.result.rawValue)
        json.add("status", answer?.status.map(Int64.init))
        json.add("milliseconds", answer?.milliseconds)
        if let body = answer?.body { json.add("answer", json: String(decoding: body, as: UTF8.self)) }
        json.add("shown", shown?.kind ?? "nothing")
        json.add("messageIdentifier", shown?.messageIdentifier)
        return ControlAnswer.json(json.object)
    }
}

extension StoreState {
    /// What the customer sees: what the backend chose if it may be shown, or else the default message, or nothing (Apple,
    /// Setting up your Get Retention Message endpoint).
    fileprivate func shownMessage(
        _ chosen: String?, _ request: RealtimeRequest, of bundleId: String, now: Int64
    ) -> (kind: String, messageIdentifier: String)? {
        let environment = request.environment
        if let chosen, canShow(chosen, of: bundleId, in: environment, now: now) { return ("realtime", chosen) }
        let key = RetentionDefault.key(request.productId, request.userLocale)
        guard let row = retentionItem(RetentionDefault.self, key, of: bundleId, in: environment),
            canShow(row.messageIdentifier, of: bundleId, in: environment, now: now)
        else { return nil }
        return ("default", row.messageIdentifier)
    }
}
