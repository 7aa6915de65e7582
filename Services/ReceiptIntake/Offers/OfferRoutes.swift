import HTTPTypes
import Hummingbird
import HummingbirdCore
import Metrics
import PurchaseModel
import ServiceRuntime

/// `POST /v1/offer-signatures`: subscription offers, signed with the app's key.
///
/// Nothing is read from the database, nor written to it.
struct OfferRoutes: Sendable {
    let authenticator: Authenticator
    let signers: OfferSigners
    let limits: AccountLimits
    let body: JSONBody

    /// Signs an offer; every request is another signature.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func post(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let callers = try await ProvenCallers(request, context, authenticator)
        try await limits.admitSigning(by: callers.player)
        let wanted = try await body.decode(OfferRequest.self, from: request)
        let caller = try await callers.caller(app: wanted.app)
        if let account = wanted.account { _ = try PurchaseRoutes.account(of: caller, body: account) }
        let wish = try wanted.wish()
        guard let signer = signers.signer(app: caller.app) else { throw ProblemDetails.offerKeyMissing }
        if !caller.isServer { try Self.admit(wish, playerOffers: signer.playerOffers) }
        let answer = try OfferAnswer(wish, product: wanted.productId, app: caller.app, by: signer)
        Counter(
            label: "countersign_offer_signatures_total",
            dimensions: [("kind", wish.kind), ("caller", caller.isServer ? "server" : "player")]
        ).increment()
        return try answer.response()
    }

    /// Whether a player may have it signed without the backend: an app can be made to ask for anything.
    private static func admit(_ wish: OfferRequest.Wish, playerOffers: Set<String>) throws {
        guard case .promotional(let offer, _, _) = wish, playerOffers.contains(offer) else {
            throw ProblemDetails.offerForbidden
        }
    }
}

extension OfferRequest.Wish {
    /// The name in the metric.
    fileprivate var kind: String {
        switch self {
        case .promotional: "promotional"
        case .introductory: "introductory"
        }
    }
}

extension ProblemDetails {
    static let offerMissing = ProblemDetails(
        .fieldMissing, "One of the fields `offer_id` and `allow_introductory_offer` is required.", field: "offer_id")

    static let offerKeyMissing = ProblemDetails(
        .offerKeyMissing, "Its entry of the apps file has no `subscription_offers`.")

    static let offerForbidden = ProblemDetails(
        .offerForbidden,
        "Players may have the offers signed that `player_offers` lists; with a server API key the studio's "
            + "backend may have any signed.")
}
