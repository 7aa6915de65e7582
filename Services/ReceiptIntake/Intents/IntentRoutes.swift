import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Metrics
import Persistence
import PurchaseModel
import ServiceRuntime

/// `POST /v1/intents` and `GET /v1/intents/{id}`: who is about to buy what, so that Apple's data names the account.
struct IntentRoutes: Sendable {
    enum Limit {
        /// The most characters of a product id.
        static let productIdLength = 255
        /// The most characters of the app's own order number.
        static let referenceLength = 255
    }

    let authenticator: Authenticator
    let store: IntentStore
    let body: JSONBody
    let turns: ReadingTurns
    /// The most that an account may open within 24 hours.
    let perDay: Int

    /// What an app, or the studio's backend, sends.
    struct IntentRequest: Decodable, Sendable {
        let app: String
        let account: String?
        let productId: String
        /// The app's own number of the order.
        let reference: String?

        enum CodingKeys: String, CodingKey {
            case app, account, reference
            case productId = "product_id"
        }
    }

    /// Opens an intent; every request opens another one.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func post(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let callers = try await ProvenCallers(request, context, authenticator)
        if let player = callers.player { try await turns.limits.admitPost(by: player) }
        let wanted = try await body.decode(IntentRequest.self, from: request)
        let caller = try await callers.caller(app: wanted.app)
        let account = try PurchaseRoutes.account(of: caller, body: wanted.account)
        guard PrintableText.isOne(wanted.productId, lengthMaximum: Limit.productIdLength) else {
            throw ProblemDetails.fieldInvalid(
                "product_id", "1 to \(Limit.productIdLength) characters without control characters")
        }
        if let reference = wanted.reference, !PrintableText.isOne(reference, lengthMaximum: Limit.referenceLength) {
            throw ProblemDetails.fieldInvalid(
                "reference", "1 to \(Limit.referenceLength) characters without control characters")
        }
        let opening = try await turns.takeAgain(for: caller) {
            try await store.open(
                UUID(), app: caller.app, account: account.text, productId: wanted.productId,
                reference: wanted.reference, limit: perDay)
        }
        switch opening {
        case .opened(let intent):
            Counter(label: "countersign_intents_total").increment()
            return try IntentAnswer(intent, context.version).response(.created)
        case .exhausted(let seconds):
            throw ProblemDetails.intentsExhausted(perDay: perDay, retryAfterSeconds: seconds)
        }
    }

    /// Tells whether something was bought with an intent; another account's does not exist for a player.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func get(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await ReadingCaller.read(request, context, authenticator)
        guard let id = context.parameters.get("id").flatMap(IntentId.uuid),
            let found = try await turns.take(for: caller, { try await store.find(id, app: caller.app) }),
            caller.maySee(app: found.intent.app, account: found.intent.account)
        else { throw ProblemDetails.notFound }
        let purchases = found.purchases.filter { !caller.isTest || $0.key.environment == .sandbox }
        return try IntentAnswer(found.intent, purchases: purchases, context.version).response(.ok)
    }
}

extension ProblemDetails {
    static func intentsExhausted(perDay: Int, retryAfterSeconds: Int) -> ProblemDetails {
        ProblemDetails(
            .intentsExhausted,
            "An account may open \(perDay) within 24 hours. Open one for each purchase, when the player buys.",
            retryAfterSeconds: retryAfterSeconds)
    }
}
