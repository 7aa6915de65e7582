import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Persistence
import PurchaseModel
import ServiceRuntime

/// `PUT /v1/accounts/{id}/consent`: whether Apple may be told how much of a purchase was used, when its customer asks for a
/// refund.
struct ConsentRoutes: Sendable {
    let authenticator: Authenticator
    let store: AccountConsentStore
    let body: JSONBody
    let turns: ReadingTurns

    /// What the player's app or the studio's backend sends.
    struct ConsentRequest: Decodable {
        let app: String
        let consented: Bool
    }

    /// What it is told.
    struct Answer: Encodable {
        let app: String
        let account: String
        let consented: Bool
        let changedAt: Date

        enum CodingKeys: String, CodingKey {
            case app, account, consented
            case changedAt = "changed_at"
        }
    }

    /// Writes the consent down, or that there is none; doing so again is fine.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func put(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let callers = try await ProvenCallers(request, context, authenticator)
        if let player = callers.player { try await turns.limits.admitPost(by: player) }
        let asked = try await body.decode(ConsentRequest.self, from: request)
        let caller = try await callers.caller(app: asked.app)
        let account = try ReadingQuery.account(context)
        guard caller.maySee(app: caller.app, account: account.text) else { throw ProblemDetails.notFound }
        let consent = try await turns.takeAgain(for: caller) {
            try await store.set(asked.consented, app: caller.app, account: account)
        }
        return try ReadingAnswer.response(
            Answer(app: caller.app, account: account.text, consented: consent.isGiven, changedAt: consent.changedAt))
    }
}
