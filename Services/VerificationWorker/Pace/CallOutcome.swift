import AppStoreServerAPI

/// What came of a call to Apple.
enum CallOutcome<Value: Sendable>: Sendable {
    /// Apple answered as it should.
    case answer(Value)
    /// Apple answered with an error about this request.
    case refused(AppStoreServerError)
    /// The host does not answer, answers with errors of its own, or is not asked while it rests.
    case unavailable(retryAfterSeconds: Double)
    /// Apple, or our budget, has no room until then.
    case rateLimited(retryAfterSeconds: Double)
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
