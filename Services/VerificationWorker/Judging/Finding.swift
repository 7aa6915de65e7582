import Foundation
import Messages
import PurchaseModel
import ServiceRuntime

/// What was found out about one submission: the verdict, which of its transactions are the poster's, and what else Apple
/// said beside them.
struct Finding: Sendable, Hashable {
    /// One of three values.
    let verdict: Verdict
    /// As `VerdictMessage.claims`: nil claims all of them.
    let claims: [String]?
    /// As `VerdictMessage.claimsAreUnproven`.
    let claimsAreUnproven: Bool
    /// What Apple said of coming renewals; empty unless it is genuine.
    let renewals: [RenewalStatement]
    /// Consents that guardians withdrew; empty unless it is genuine.
    let rescindedConsents: [RescindedConsent]
    /// Which server notification it was; nil for every other proof, and for one that Apple did not sign.
    let notification: VerdictMessage.NotificationKind?
    /// As `VerdictMessage.proofSignedDate`.
    let proofSignedDate: Date?

    /// A finding in which all transactions are the poster's, or in which there are none.
    init(
        _ verdict: Verdict, claims: [String]? = nil, claimsAreUnproven: Bool = false,
        renewals: [RenewalStatement] = [], rescindedConsents: [RescindedConsent] = [],
        notification: VerdictMessage.NotificationKind? = nil, proofSignedDate: Date? = nil
    ) {
        self.verdict = verdict
        self.claims = claims
        self.claimsAreUnproven = claimsAreUnproven
        self.renewals = renewals
        self.rescindedConsents = rescindedConsents
        self.notification = notification
        self.proofSignedDate = proofSignedDate
    }

    /// The verdict about what was posted by its number alone: all of it is claimed.
    static func ofNumber(
        _ verdict: Verdict, for app: AppsFile.App, renewals: [RenewalStatement] = []
    ) -> Finding {
        guard case .genuine = verdict else { return Finding(verdict) }
        return Finding(verdict, claimsAreUnproven: app.possession == .proof, renewals: renewals)
    }

    /// Refused for good.
    static func rejected(_ reason: ReasonCode, _ detail: String) -> Finding {
        Finding(.rejected(reason, detail: detail))
    }

    /// Nothing is known, until some time.
    static func unknown(_ reason: ReasonCode, after seconds: Double) -> Finding {
        Finding(.unknown(reason, retryAfterSeconds: seconds))
    }

    /// Whether it is refused for good.
    var isRejected: Bool {
        if case .rejected = verdict { return true }
        return false
    }

    /// The same proof with another verdict; what the old one vouched for goes with it.
    func replaced(by verdict: Verdict) -> Finding {
        Finding(verdict, notification: notification)
    }
}
