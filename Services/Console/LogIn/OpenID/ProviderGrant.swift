import Foundation
import ServiceRuntime

/// By what the provider is asked whether somebody may still be here.
struct ProviderGrant: Sendable {
    enum Limit {
        /// Seconds of use after which the provider is asked again: who was removed there is out within these.
        static let interval: TimeInterval = 60
        /// Seconds that sessions go on while the provider does not answer.
        static let patience: TimeInterval = 300
        /// Seconds between questions while it does not answer.
        static let pause: TimeInterval = 10
    }

    var accessToken: Redacted<String>
    var refreshToken: Redacted<String>?
    /// When the access token is of no use any more; nil where the provider did not say.
    var expires: Date?
    /// The provider's own session, for its back channel.
    let providerSession: String?
    /// The claims of the ID token, for what userinfo does not say.
    var idClaims: JSON
    /// Whether userinfo has ever told groups: where it tells none then, there are none.
    var groupsFromUserInfo: Bool
    /// When the provider last said yes.
    var confirmed: Date
    /// When it was last asked.
    var asked: Date

    /// Whether it has to be asked now.
    func isDue(_ now: Date) -> Bool {
        now.timeIntervalSince(confirmed) >= Limit.interval && now.timeIntervalSince(asked) >= Limit.pause
    }

    /// Whether it has said nothing for too long.
    func isStale(_ now: Date) -> Bool { now.timeIntervalSince(confirmed) >= Limit.patience }
}
