import ArgumentParser
import Foundation
import JWTKit

/// How a load proves who it is: a server's key that may speak for any account, or a token for each account.
struct LoadCredentials: Sendable {
    /// How long a token is good for: longer than any load.
    private static let tokenLifetime: TimeInterval = 7 * 86_400

    private let key: String?
    private let tokens: [String: String]

    /// A server API key.
    init(apiKey: String) {
        key = apiKey
        tokens = [:]
    }

    /// A token for each account, signed with HS256.
    ///
    /// - Throws: `JWTError`.
    init(secret: String, accounts: some Sequence<String>, issuer: String?, audience: String?) async throws {
        let keys = JWTKeyCollection()
        await keys.add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256)
        var tokens: [String: String] = [:]
        for account in accounts where tokens[account] == nil {
            let claims = Claims(
                sub: SubjectClaim(value: account), iss: issuer.map { IssuerClaim(value: $0) },
                aud: audience.map { AudienceClaim(value: $0) },
                exp: ExpirationClaim(value: Date().addingTimeInterval(Self.tokenLifetime)))
            tokens[account] = try await keys.sign(claims)
        }
        key = nil
        self.tokens = tokens
    }

    /// Whether the request has to name the account, since the credential does not.
    var isServerKey: Bool { key != nil }

    /// The headers of a request for an account.
    func headers(account: String) -> [(String, String)] {
        [("authorization", "Bearer \(key ?? tokens[account] ?? "")")]
    }

    private struct Claims: JWTPayload {
        let sub: SubjectClaim
        let iss: IssuerClaim?
        let aud: AudienceClaim?
        let exp: ExpirationClaim

        func verify(using algorithm: some JWTAlgorithm) throws {
            try exp.verifyNotExpired()
        }
    }
}

/// Where credentials come from.
enum CredentialSource: Sendable {
    /// A server's key that may speak for any account.
    case apiKey(String)
    /// The HS256 secret of the players' tokens.
    case secret(String, issuer: String?, audience: String?)

    /// - Throws: `JWTError`.
    func credentials(of accounts: some Sequence<String>) async throws -> LoadCredentials {
        switch self {
        case .apiKey(let key): LoadCredentials(apiKey: key)
        case .secret(let secret, let issuer, let audience):
            try await LoadCredentials(secret: secret, accounts: accounts, issuer: issuer, audience: audience)
        }
    }
}

/// The options that say who asks the backend.
struct CredentialOptions: ParsableArguments {
    @Option(help: "A file with the backend's server API key. Default: COUNTERSIGN_API_KEY.") var apiKeyFile: String?
    @Option(help: "A file with the HS256 secret, instead of a key: each account then comes with a token of its own.")
    var jwtSecretFile: String?
    @Option(help: "The tokens' iss.") var jwtIssuer: String?
    @Option(help: "The tokens' aud.") var jwtAudience: String?

    /// - Throws: `ToolFailure`.
    func source() throws -> CredentialSource {
        if let path = jwtSecretFile {
            return .secret(try LaboratorySettings.secret(in: path), issuer: jwtIssuer, audience: jwtAudience)
        }
        return .apiKey(try apiKeyFile.map(LaboratorySettings.secret(in:)) ?? LaboratorySettings().apiKey())
    }
}
