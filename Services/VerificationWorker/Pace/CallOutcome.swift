import AppStoreServerAPI
import PurchaseModel

/// What came of a call to Apple.
enum CallOutcome<Value: Sendable>: Sendable {
    /// Apple answered as it should.
    case answer(Value)
    /// Apple answered with an error about this request.
    case refused(AppStoreServerError)
    /// There is no answer until then: `app_store_unavailable` where the host does not answer, answers with errors of its own
    /// or rests, `rate_limited` where Apple or our budget has no room, `app_store_not_configured` where the app has no key.
    case later(ReasonCode, afterSeconds: Double)
}

extension AppStoreServerError {
    /// What an error says about the host that it came from.
    enum HostHealth: Sendable, Hashable {
        /// It answered; whatever it said was about the request.
        case isThere
        /// It did not answer, or not as Apple does.
        case isInTrouble
        /// It was not asked.
        case isNotKnown
    }

    /// Whether the host is there, as far as this error tells.
    var hostHealth: HostHealth {
        switch category {
        case .server, .transport, .unreadable: .isInTrouble
        case .notFound, .rateLimited, .unauthorized: .isThere
        case .invalidRequest: status == nil ? .isNotKnown : .isThere
        }
    }
}
