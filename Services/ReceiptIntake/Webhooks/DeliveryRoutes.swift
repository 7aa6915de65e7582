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
        let selection = try DeliveryQuery.selection(request, of: caller)
        let (position, limit) = (try DeliveryQuery.position(request), try ReadingQuery.limit(request))
        let page = try await turns.take(for: caller) {
            try await store.page(selection, after: position, limit: limit)
        }
        return try ReadingAnswer.response(ListAnswer(page))
    }

    /// Tells the attempts of one delivery, the newest first.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func attempts(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await ReadingCaller.read(request, context, authenticator)
        let event = try DeliveryQuery.part("event", of: context)
        let endpoint = try DeliveryQuery.part("endpoint", of: context)
        let (position, limit) = (try DeliveryQuery.attempt(request), try ReadingQuery.limit(request))
        let page = try await turns.take(for: caller) {
            try await store.attempts(
                event: event, endpoint: endpoint, app: caller.app, environment: caller.isTest ? .sandbox : nil,
                after: position, limit: limit)
        }
        guard let page else { throw ProblemDetails.notFound }
        return try ReadingAnswer.response(ListAnswer(page))
    }
}

/// What the paths and queries of these requests say.
enum DeliveryQuery {
    enum Limit {
        /// Unicode scalars of an id.
        static let text = 255
    }

    private static let states = ["abandoned", "delivered", "pending"]

    /// Which deliveries are meant, of this app.
    ///
    /// - Throws: `ProblemDetails` for what means nothing.
    static func selection(_ request: Request, of caller: Caller) throws -> DeliveryReading.Selection {
        var selection = DeliveryReading.Selection()
        selection.app = caller.app
        selection.environment = try caller.environmentOfRows(ReadingQuery.text("environment", in: request))
        (selection.event, selection.endpoint) = (try text("event", in: request), try text("endpoint", in: request))
        selection.state = try text("state", in: request)
        if let state = selection.state, !states.contains(state) {
            let names = states.map { "\"\($0)\"" }.joined(separator: ", ")
            throw ProblemDetails.fieldInvalid("state", "one of \(names)")
        }
        return selection
    }

    /// `?after=` of deliveries.
    ///
    /// - Throws: `ProblemDetails` for what is none of our cursors.
    static func position(_ request: Request) throws -> DeliveryReading.Position? {
        try ListCursor.position(request) { DeliveryReading.Position(event: $0, endpoint: $1) }
    }

    /// `?after=` of attempts.
    ///
    /// - Throws: `ProblemDetails` for what is none of our cursors.
    static func attempt(_ request: Request) throws -> DeliveryReading.AttemptPosition? {
        try ListCursor.position(request) { number, time in
            guard ReadingQuery.isDigits(number), let number = Int32(number),
                let microseconds = ListCursor.microseconds(time)
            else { return nil }
            return DeliveryReading.AttemptPosition(number: number, microseconds: microseconds)
        }
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
