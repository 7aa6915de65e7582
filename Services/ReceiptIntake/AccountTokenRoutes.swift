import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Messages
import NIOCore
import PurchaseModel
import ServiceRuntime

/// `PUT /v1/account-tokens/{uuid}`: the studio's backend says whose an appAccountToken is.
struct AccountTokenRoutes: Sendable {
    let authenticator: Authenticator
    let accountTokens: AccountTokens
    let body: JSONBody

    /// What the backend sends.
    struct TokenRequest: Decodable {
        let app: String
        let account: String
    }

    /// What it is told.
    struct TokenAnswer: Encodable {
        let app: String
        let token: String
        let account: String
    }

    /// Registers the token; doing so again is fine.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @Sendable
    func put(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let callers = try await ProvenCallers(request, context, authenticator)
        let registration = try await body.decode(TokenRequest.self, from: request)
        let caller = try await callers.caller(app: registration.app)
        guard case .server(let app) = caller else { throw ProblemDetails.serverKeyRequired }
        guard let token = context.parameters.get("uuid").flatMap(UUID.init(uuidString:)), AccountTokens.isToken(token)
        else { throw ProblemDetails.fieldInvalid("uuid", "a UUID, and not the one of zeros alone") }
        let account = try PurchaseRoutes.account(of: caller, body: registration.account)
        guard try await accountTokens.register(token, app: app, account: account) else {
            throw ProblemDetails.accountTokenTaken
        }
        let answer = TokenAnswer(app: app, token: token.uuidString.lowercased(), account: account.text)
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: try MessageCoding.encode(answer))))
    }
}
