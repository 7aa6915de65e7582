import Crypto
import Foundation

/// A log-in on its way to the provider and back.
///
/// The browser has it, sealed; nothing of it is kept here, so nobody can fill memory with log-ins that never come back.
///
/// Source: RFC 6749, section 10.12; RFC 7636 (PKCE); OpenID Connect Core 1.0, section 15.5.2.
struct LogInState: Codable, Sendable, Equatable {
    enum Limit {
        /// Seconds from the beginning of a log-in to its end.
        static let seconds = 600
    }

    /// Comes back in the address.
    let state: String
    /// Comes back in the ID token.
    let nonce: String
    /// Only who began the log-in can redeem the code.
    let verifier: String
    /// Where to go afterwards: a path of ours.
    let next: String
    let expires: Date

    init(next: String, now: Date) {
        (state, nonce, verifier) = (RandomText.make(), RandomText.make(), RandomText.make())
        self.next = next
        expires = now.addingTimeInterval(TimeInterval(Limit.seconds))
    }

    /// `S256` of the verifier.
    var challenge: String {
        Data(SHA256.hash(data: Data(verifier.utf8))).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// The value of a cookie that nobody can read or change.
    func sealed(with key: SymmetricKey) throws -> String {
        guard let box = try AES.GCM.seal(JSONEncoder().encode(self), using: key).combined else {
            throw CryptoKitError.incorrectParameterSize
        }
        return box.base64EncodedString()
    }

    /// What a cookie has; nil where it is none of ours, or has expired.
    static func opened(_ cookie: String, with key: SymmetricKey, now: Date) -> LogInState? {
        guard let data = Data(base64Encoded: cookie), let box = try? AES.GCM.SealedBox(combined: data),
            let text = try? AES.GCM.open(box, using: key),
            let state = try? JSONDecoder().decode(LogInState.self, from: text), now < state.expires
        else { return nil }
        return state
    }
}
