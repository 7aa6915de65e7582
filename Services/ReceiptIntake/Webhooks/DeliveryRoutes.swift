import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Persistence
import PurchaseModel
import ServiceRuntime

/// `GET /v1/webhooks/deliveries` and `GET /v1/webhooks/deliveries/{event}/{endpoint}/attempts`.
struct DeliveryRoutes: Sendable {
    let authenticator: Authenticator
    let store: DeliveryReading
    let turns: ReadingTurns

    /// Tells how deliveries of the app's events stand, the newest events first.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func deliveries(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await ReadingCaller.read(request, context, authenticator)
        guard case .server(let app) = caller else { throw ProblemDetails.serverKeyRequired }
        let selection = try DeliveryQuery.selection(request, app: app)
        let (position, limit) = (try DeliveryQuery.position(request), try DeliveryQuery.limit(request))
        let page = try await turns.take(for: caller) {
            try await store.page(selection, before: position, limit: limit)
        }
        return try ReadingAnswer.response(DeliveriesAnswer(page))
    }

    /// Tells every attempt of one delivery.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func attempts(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await ReadingCaller.read(request, context, authenticator)
        guard case .server(let app) = caller else { throw ProblemDetails.serverKeyRequired }
        let event = try DeliveryQuery.part("event", of: context)
        let endpoint = try DeliveryQuery.part("endpoint", of: context)
        let attempts = try await turns.take(for: caller) {
            try await store.attempts(event: event, endpoint: endpoint, app: app)
        }
        guard let attempts else { throw ProblemDetails.notFound }
        return try ReadingAnswer.response(AttemptsAnswer(event: event, endpoint: endpoint, attempts: attempts))
    }
}

/// What the paths and queries of these requests say.
enum DeliveryQuery {
    enum Limit {
        /// Deliveries of a page where the caller does not say.
        static let deliveries = 20
        /// Unicode scalars of an id.
        static let text = 255
    }

    private static let states = ["abandoned", "delivered", "pending"]

    /// Which deliveries are meant, of this app.
    ///
    /// - Throws: `ProblemDetails` for what means nothing.
    static func selection(_ request: Request, app: String) throws -> DeliveryReading.Selection {
        var selection = DeliveryReading.Selection()
        selection.app = app
        (selection.event, selection.endpoint) = (try text("event", in: request), try text("endpoint", in: request))
        selection.state = try text("state", in: request)
        if let state = selection.state, !states.contains(state) {
            let names = states.map { "\"\($0)\"" }.joined(separator: ", ")
            throw ProblemDetails.fieldInvalid("state", "one of \(names)")
        }
        return selection
    }

    /// `?limit=`.
    ///
    /// - Throws: `ProblemDetails` for anything but 1 to the maximum.
    static func limit(_ request: Request) throws -> Int {
        try ReadingQuery.limit(request, default: Limit.deliveries, maximum: DeliveryReading.Limit.page)
    }

    /// `?before=`: the `next` of the page before.
    ///
    /// - Throws: `ProblemDetails` for what is none of our cursors.
    static func position(_ request: Request) throws -> DeliveryReading.Position? {
        guard let text = ReadingQuery.text("before", in: request) else { return nil }
        guard text.utf8.count <= ResendRequest.Limit.cursorBytes, let position = ResendRequest.position(of: text) else {
            throw ProblemDetails.fieldInvalid("before", "the `next` of the page before, as it was")
        }
        return position
    }

    /// An id in the path.
    ///
    /// - Throws: `ProblemDetails`: what cannot be one is not found.
    static func part(_ name: String, of context: IntakeContext) throws -> String {
        guard let text = context.parameters.get(name)?.removingPercentEncoding,
            PrintableText.isOne(text, lengthMaximum: Limit.text)
        else { throw ProblemDetails.notFound }
        return text
    }

    private static func text(_ name: String, in request: Request) throws -> String? {
        guard let text = ReadingQuery.text(name, in: request) else { return nil }
        guard PrintableText.isOne(text, lengthMaximum: Limit.text) else {
            throw ProblemDetails.fieldInvalid(name, "1 to \(Limit.text) characters without control characters")
        }
        return text
    }
}
