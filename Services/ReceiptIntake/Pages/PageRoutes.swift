import Hummingbird
import HummingbirdCore
import Messages
import PurchaseModel
import ServiceRuntime

/// What a reader of an answer or an event looks up, for everybody: pages of problems and of reasons, schemas of events.
struct PageRoutes: Sendable {
    private static let problems = Pages(ProblemKind.all.map { ($0.code, $0.page) })
    private static let reasons = Pages(Reason.all.map { ($0.code.rawValue, $0.page) })
    private static let schema = PublicDocument(EventSchemas.schema, contentType: "application/schema+json")
    private static let examples = PublicDocument(EventSchemas.examples, contentType: "application/json")

    /// Pages of one kind: each by its name, and all of them as one.
    private struct Pages: Sendable {
        private let byName: [String: PublicDocument]
        let all: PublicDocument

        init(_ pages: [(name: String, text: String)]) {
            byName = Dictionary(uniqueKeysWithValues: pages.map { ($0.name, Self.plain($0.text)) })
            all = Self.plain(pages.map(\.text).joined(separator: "\n---\n\n"))
        }

        /// - Throws: `ProblemDetails.notFound`.
        func page(_ name: String?) throws -> PublicDocument {
            guard let name, let page = byName[name] else { throw ProblemDetails.notFound }
            return page
        }

        private static func plain(_ text: String) -> PublicDocument {
            PublicDocument(Array(text.utf8), contentType: "text/plain; charset=utf-8")
        }
    }

    /// `GET /problems`: every type of problem.
    @Sendable
    func problems(_ request: Request, _ context: IntakeContext) async throws -> Response {
        Self.problems.all.response
    }

    /// `GET /problems/{code}`: one type, to which the `type` of a problem leads.
    ///
    /// - Throws: `ProblemDetails`.
    @Sendable
    func problem(_ request: Request, _ context: IntakeContext) async throws -> Response {
        try Self.problems.page(context.parameters.get("code")).response
    }

    /// `GET /reasons`: every reason.
    @Sendable
    func reasons(_ request: Request, _ context: IntakeContext) async throws -> Response {
        Self.reasons.all.response
    }

    /// `GET /reasons/{code}`: one reason.
    ///
    /// - Throws: `ProblemDetails`.
    @Sendable
    func reason(_ request: Request, _ context: IntakeContext) async throws -> Response {
        try Self.reasons.page(context.parameters.get("code")).response
    }

    /// `GET /schemas/events.json`: the JSON Schema of every event.
    @Sendable
    func schema(_ request: Request, _ context: IntakeContext) async throws -> Response {
        Self.schema.response
    }

    /// `GET /schemas/examples.json`: an event of each type, by type.
    @Sendable
    func examples(_ request: Request, _ context: IntakeContext) async throws -> Response {
        Self.examples.response
    }
}
