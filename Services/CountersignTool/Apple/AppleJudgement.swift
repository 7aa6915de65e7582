import AppStoreServerAPI

/// What Apple's answers mean, and what is to be done about them.
struct AppleJudgement: Sendable {
    let bundleId: String
    let issuerId: String
    let keyId: String
    let isReleased: Bool

    /// An environment in messages.
    static func name(_ environment: AppStoreEnvironment) -> String {
        environment == .production ? "production" : "sandbox"
    }

    /// Where the address of notifications is entered.
    private static let urlPlace = "App Store Connect, the app's App Information, App Store Server Notifications"

    /// The first call failed.
    func ofKey(_ error: any Error, in environment: AppStoreEnvironment) -> Finding {
        let place = Self.name(environment)
        guard let error = error as? AppStoreServerError else {
            return .wrong("key", "\(place): \(error)", remedy: "try again")
        }
        switch error.category {
        case .unauthorized where environment == .production && !isReleased:
            return .warning(
                "key", "\(place): Apple answers 401, as it does for an app that was never released",
                remedy: "look at the sandbox's line; ask again after the release")
        case .unauthorized:
            return .wrong(
                "key", "\(place): Apple does not accept the key (HTTP 401)",
                remedy: "compare issuer_id \(issuerId) and key_id \(keyId) with Users and Access, Integrations, In-App "
                    + "Purchase in App Store Connect: is the key active, of that page (not of the App Store Connect API), "
                    + "and the .p8 file its own? Is \(bundleId) an app of that account, and this machine's clock right?"
            )
        case .notFound:
            return .wrong(
                "key", "\(place): Apple does not know \(bundleId) (\(error))",
                remedy: "compare the bundle id with App Store Connect; a new app may take a while")
        default:
            return other("key", error, place)
        }
    }

    /// The test notification could not be asked for, or its status not be read.
    func ofNotification(_ error: any Error, in environment: AppStoreEnvironment) -> Finding {
        let place = Self.name(environment)
        guard let error = error as? AppStoreServerError else {
            return .wrong("notification", "\(place): \(error)", remedy: "try again")
        }
        guard error.code == .serverNotificationURLNotFound else { return other("notification", error, place) }
        return .wrong(
            "notification", "\(place): no address is entered for server notifications",
            remedy: "\(Self.urlPlace): enter https://YOUR-HOST/v1/notifications as the \(place) server URL, version 2")
    }

    /// Apple has tried to send it.
    func ofAttempt(_ result: SendAttemptResult, in environment: AppStoreEnvironment) -> Finding {
        let place = Self.name(environment)
        guard result != .success else {
            return .good("notification", "\(place): Apple sent the test notification, and it was taken")
        }
        return .wrong(
            "notification", "\(place): Apple could not deliver the test notification (\(result.rawValue))",
            remedy: Self.remedy(result))
    }

    /// Apple has not said what became of it.
    func ofSilence(_ wait: Duration, in environment: AppStoreEnvironment) -> Finding {
        .warning(
            "notification", "\(Self.name(environment)): Apple does not say yet what became of it, after \(wait)",
            remedy: "ask again with a longer --wait")
    }

    private static func remedy(_ result: SendAttemptResult) -> String {
        switch result {
        case .timedOut: "is intake running behind the proxy, and does it answer within seconds?"
        case .tlsIssue:
            "the certificate of the address must be valid, for its host, sent with its intermediates, over TLS 1.2 or newer"
        case .circularRedirect: "\(urlPlace): enter the address that the redirects should end at"
        case .noResponse, .socketIssue, .prematureClose:
            "is the address reachable from the internet? Let Apple's 17.0.0.0/8 through firewall and proxy"
        case .unsuccessfulHttpResponseCode:
            "does the address end in /v1/notifications, does the proxy hand it to intake, and does intake serve this app? "
                + "Its log, and the proxy's, have the status"
        default: "something else than intake answered: what does the proxy do with POST /v1/notifications?"
        }
    }

    private func other(_ subject: String, _ error: AppStoreServerError, _ place: String) -> Finding {
        let remedy =
            switch error.category {
            case .rateLimited: "Apple allows one test notification a second; wait a minute"
            case .server: "Apple has trouble; see its System Status page, and try again"
            case .transport: "may this machine connect to Apple's hosts on port 443?"
            case .unreadable: "something between here and Apple answers in its place: a proxy?"
            default: "Apple refuses the request; this is what it says"
            }
        return .wrong(subject, "\(place): \(error)", remedy: remedy)
    }
}
