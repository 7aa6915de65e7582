import CountersignClientStoreKit
import Foundation

/// Your own log-in: whoever plays, and the JWT that your backend gives them (`sub` is the account).
struct GameLogIn: PlayerCredentials {
    /// Who is logged in; where your app keeps it.
    static var account: String? { UserDefaults.standard.string(forKey: "account") }

    func token(of account: String, isRefreshing: Bool) async throws -> String? {
        // Nil lets purchases of this account wait. Where the server refused the last token, get another one.
        guard account == Self.account else { return nil }
        return try await GameBackend.token(isRefreshing: isRefreshing)
    }
}

/// Stands for your backend.
enum GameBackend {
    static func token(isRefreshing: Bool) async throws -> String? {
        // A request of yours; keep the token in the Keychain until it expires.
        nil
    }
}
