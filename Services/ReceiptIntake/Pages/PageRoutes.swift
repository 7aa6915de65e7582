import HTTPTypes
import Hummingbird
import HummingbirdCore
import Messages
import NIOCore
import ServiceRuntime

/// What a reader of an answer or an event looks up, for everybody: pages of problems and of reasons, schemas of events.
struct PageRoutes: Sendable {
    /// For how many seconds a cache may keep a page.
    static let cacheSeconds = 300

    private static let plainText = "text/plain; charset=utf-8"
    private static let problems = Dictionary(uniqueKeysWithValues: ProblemPage.all.map { ($0.slug, $0.text) })
    private static let reasons = Dictionary(uniqueKeysWithValues: ReasonPage.all.map { ($0.code, $0.text) })

    /// `GET /problems`: every type of problem.
    @Sendable
    func problems(_ request: Request, _ context: IntakeContext) async throws -> Response {
        Self.page(ProblemPage.all.map(\.text).joined(separator: "\n---\n\n"))
    }

    /// `GET /problems/{slug}`: one type, to which the `type` of a problem leads.
    ///
    /// - Throws: `ProblemDetails`.
    @Sendable
    func problem(_ request: Request, _ context: IntakeContext) async throws -> Response {
        try Self.page(named: context.parameters.get("slug"), of: Self.problems)
    }

    /// `GET /reasons`: every reason.
    @Sendable
    func reasons(_ request: Request, _ context: IntakeContext) async throws -> Response {
        Self.page(ReasonPage.all.map(\.text).joined(separator: "\n---\n\n"))
    }

    /// `GET /reasons/{code}`: one reason.
    ///
    /// - Throws: `ProblemDetails`.
    @Sendable
    func reason(_ request: Request, _ context: IntakeContext) async throws -> Response {
        try Self.page(named: context.parameters.get("code"), of: Self.reasons)
    }

    /// `GET /schemas/events.json`: the JSON Schema of every event.
    @Sendable
    func schema(_ request: Request, _ context: IntakeContext) async throws -> Response {
        Self.response(EventSchemas.schema, contentType: "application/schema+json")
    }

    /// `GET /schemas/examples.json`: an event of each type, by type.
    @Sendable
    func examples(_ request: Request, _ context: IntakeContext) async throws -> Response {
        Self.response(EventSchemas.examples, contentType: "application/json")
    }

    private static func page(named name: String?, of pages: [String: String]) throws -> Response {
        guard let name, let text = pages[name] else { throw ProblemDetails.notFound }
        return page(text)
    }

    private static func page(_ text: String) -> Response { response(Array(text.utf8), contentType: plainText) }

    private static func response(_ bytes: [UInt8], contentType: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: contentType, .cacheControl: "public, max-age=\(cacheSeconds)"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
