import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime

/// `GET /v1/accounts/{id}/export`: the studio's backend reads all that is known of an account.
struct ExportRoutes: Sendable {
    let authenticator: Authenticator
    let export: @Sendable (_ app: String, _ account: Account) -> AccountExport

    /// Answers with the pages as they are read: nobody holds more than one of them.
    ///
    /// Where the database is gone in the middle the answer ends before its end, which no JSON parser takes for the whole.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func get(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await ReadingCaller.read(request, context, authenticator)
        let account = try ReadingQuery.account(context)
        context.tells(of: account)
        let export = export(caller.app, account)
        guard try await export.isKnown() else { throw ProblemDetails.notFound }
        return Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                var writer = writer
                try await Self.write(export, to: &writer)
                try await writer.finish(nil)
            })
    }

    @inline(never)
    private static func write(_ export: AccountExport, to writer: inout any ResponseBodyWriter) async throws {
        try await export.write { part in try await writer.write(ByteBuffer(string: part)) }
    }
}
