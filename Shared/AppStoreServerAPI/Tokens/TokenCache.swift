import Crypto
import Foundation
import Synchronization

/// The token of one app: made once, used for a while, made anew.
///
/// Apple allows sixty minutes (ADP, Generating JSON Web Tokens for API requests). One token is made at a time, whoever
/// waits for it: a signature takes microseconds.
final class TokenCache: Sendable {
    enum Limit {
        /// Seconds from `iat` to `exp`.
        static let lifetime: Double = 30 * 60
        /// Seconds for which a token is used: what is on its way then still has ten minutes.
        static let use: Double = 20 * 60
    }

    private struct Token {
        let text: String
        /// Seconds since 1970.
        let issued: Double
    }

    private struct Header: Encodable {
        let alg = "ES256"
        let kid: String
        let typ = "JWT"
    }

    private struct Claims: Encodable {
        let iss: String
        let iat: Double
        let exp: Double
        let aud = "appstoreconnect-v1"
        let bid: String
    }

    private let key: SigningKey
    private let bundleId: String
    private let now: @Sendable () -> Date
    private let cached = Mutex<Token?>(nil)

    init(key: SigningKey, bundleId: String, now: @escaping @Sendable () -> Date) {
        self.key = key
        self.bundleId = bundleId
        self.now = now
    }

    /// The token for a request that is sent now.
    ///
    /// - Throws: ``AppStoreServerError`` when it cannot be signed.
    func token() throws -> String {
        let seconds = Self.seconds(of: now())
        return try cached.withLock { cached in
            // A clock that was set back makes a new one, too.
            if let token = cached, (0..<Limit.use).contains(seconds - token.issued) { return token.text }
            let text = try make(at: seconds)
            cached = Token(text: text, issued: seconds)
            return text
        }
    }

    /// Makes the next request have a new token, if this is still the one.
    func forget(_ text: String) {
        cached.withLock { cached in
            if cached?.text == text { cached = nil }
        }
    }

    /// Seconds to the millisecond, and never whole ones.
    ///
    /// Apple's own Swift library sends fractions, as a NumericDate may have (RFC 7519, section 2). With whole seconds, the
    /// transactions of Catalyst apps have been unknown to Apple (apple-facts C19).
    private static func seconds(of date: Date) -> Double {
        let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded(.down)
        let isWhole = milliseconds.truncatingRemainder(dividingBy: 1_000) == 0
        return (isWhole ? milliseconds - 1 : milliseconds) / 1_000
    }

    private func make(at seconds: Double) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let claims = Claims(iss: key.issuerId, iat: seconds, exp: seconds + Limit.lifetime, bid: bundleId)
        guard let header = try? encoder.encode(Header(kid: key.keyId)), let payload = try? encoder.encode(claims) else {
            throw AppStoreServerError.refused(nil, "the token cannot be written")
        }
        let input = "\(Self.base64URL(header)).\(Self.base64URL(payload))"
        guard let signature = try? key.privateKey.signature(for: Data(input.utf8)) else {
            throw AppStoreServerError.refused(nil, "the token cannot be signed")
        }
        return "\(input).\(Self.base64URL(signature.rawRepresentation))"
    }

    /// Base64url without padding (RFC 7515, section 2).
    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
