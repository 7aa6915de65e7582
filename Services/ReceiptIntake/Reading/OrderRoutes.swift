import HTTPTypes
import Hummingbird
import HummingbirdCore
import Persistence
import PurchaseModel
import ServiceRuntime

/// `GET /v1/orders/{transaction_id}` and `GET /v1/orders/{transaction_id}/why`.
struct OrderRoutes: Sendable {
    let authenticator: Authenticator
    let store: OrderReadingStore
    let turns: ReadingTurns

    /// Tells an order with everything that was written because of it.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @Sendable
    func order(_ request: Request, _ context: IntakeContext) async throws -> Response {
        try ReadingAnswer.response(OrderAnswer(try await view(request, context)))
    }

    /// Tells an order's story in sentences: as JSON, or as text to who asks for `text/plain`.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @Sendable
    func why(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let sentences = OrderStory.sentences(try await view(request, context))
        var response =
            if AcceptHeader.prefersPlainText(request.headers[.accept]) {
                ReadingAnswer.response(Array(OrderStory.text(sentences).utf8), contentType: "text/plain; charset=utf-8")
            } else {
                try ReadingAnswer.response(OrderStory.Answer(sentences: sentences))
            }
        response.headers[.vary] = "Accept"
        return response
    }

    @inline(never)
    private func view(_ request: Request, _ context: IntakeContext) async throws -> OrderView {
        let caller = try await ReadingCaller.read(request, context, authenticator)
        let key = OrderKey(
            environment: try ReadingQuery.environment(request, of: caller),
            transactionId: try ReadingQuery.transactionId(context))
        let story = try await turns.take(for: caller) { try await store.story(of: key, app: caller.app) }
        guard let story, let view = OrderView(story, for: caller) else { throw ProblemDetails.notFound }
        context.tells(
            of: story.account.map(Account.init(stored:)), in: story.environment, order: story.order.transactionId)
        return view
    }
}

/// The header `Accept`, as far as two kinds of answer need it.
///
/// Source: RFC 9110, section 12.5.1.
enum AcceptHeader {
    /// The longest header that is read; a longer one means JSON.
    static let bytesMaximum = 1000

    /// Whether plain text is rather wanted than JSON; on equal terms it is not.
    static func prefersPlainText(_ header: String?) -> Bool {
        guard let header, header.utf8.count <= bytesMaximum else { return false }
        return quality(of: ["text/plain", "text/*", "*/*"], in: header)
            > quality(of: ["application/json", "application/*", "*/*"], in: header)
    }

    /// The weight of the first range that the header names.
    private static func quality(of ranges: [String], in header: String) -> Double {
        let named = header.lowercased().split(separator: ",").map { part in
            part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
        }
        for range in ranges {
            guard let match = named.first(where: { $0.first == range }) else { continue }
            let weight = match.dropFirst().first { $0.hasPrefix("q=") }
            return weight.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
        }
        return 0
    }
}
