import AsyncHTTPClient
import Foundation
import ServiceRuntime

/// The provider that knows the studio's people, for our client there.
struct OpenIDProvider: Sendable {
    let settings: OpenIDSettings
    let documents: ProviderDocuments
    let claims: ProviderClaims
    let now: @Sendable () -> Date
    private let requests: ProviderRequests

    init(_ settings: OpenIDSettings, http: HTTPClient, now: @escaping @Sendable () -> Date) {
        self.settings = settings
        self.now = now
        requests = ProviderRequests(http: http)
        documents = ProviderDocuments(issuer: settings.issuer, requests: requests, now: now)
        claims = ProviderClaims(
            issuer: settings.issuer, clientId: settings.clientId, groupsClaim: settings.groupsClaim, now: now)
    }

    /// Where the browser goes to log in.
    ///
    /// - Throws: `ProviderTrouble`.
    func address(for state: LogInState) async throws -> String {
        let metadata = try await documents.current()
        let query = ProviderRequests.form([
            ("response_type", "code"), ("client_id", settings.clientId), ("redirect_uri", settings.callback),
            ("scope", settings.scopes.joined(separator: " ")), ("state", state.state), ("nonce", state.nonce),
            ("code_challenge", state.challenge), ("code_challenge_method", "S256"),
        ])
        return metadata.authorization + (metadata.authorization.contains("?") ? "&" : "?") + query
    }

    /// Redeems the code of a log-in.
    ///
    /// - Throws: `ProviderTrouble`.
    func logIn(code: String, _ state: LogInState) async throws -> (Identity, ProviderGrant) {
        let answer = try await token([
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", settings.callback),
            ("code_verifier", state.verifier),
        ])
        guard let idToken = ProviderClaims.string(answer["id_token"]) else {
            throw ProviderTrouble.wrong("the token answer has no ID token")
        }
        let idClaims = try await documents.claims(of: idToken)
        let subject = try claims.checkIDToken(idClaims, nonce: state.nonce)
        let access = try Self.accessToken(answer)
        let userInfo = try await userInfo(access, of: subject)
        let fromUserInfo = claims.groups(in: userInfo) != nil
        let grant = ProviderGrant(
            accessToken: access, refreshToken: ProviderClaims.string(answer["refresh_token"]).map { Redacted($0) },
            expires: expires(answer), providerSession: ProviderClaims.string(idClaims["sid"]), idClaims: idClaims,
            groupsFromUserInfo: fromUserInfo, confirmed: now(), asked: now())
        return (identity(subject, grant, userInfo), grant)
    }

    /// Asks again who somebody is, with a new access token where the old one is of no use.
    ///
    /// - Throws: `ProviderTrouble`; `.refused` where that person may not be here any more.
    func confirm(_ subject: String, _ old: ProviderGrant) async throws -> (Identity, ProviderGrant) {
        var grant = old
        let userInfo: JSON
        if let expires = grant.expires, expires <= now(), grant.refreshToken != nil {
            try await refresh(&grant, of: subject)
            userInfo = try await self.userInfo(grant.accessToken, of: subject)
        } else {
            do {
                userInfo = try await self.userInfo(grant.accessToken, of: subject)
            } catch let trouble as ProviderTrouble {
                // It may have ended before its time.
                guard case .refused = trouble, grant.refreshToken != nil else { throw trouble }
                try await refresh(&grant, of: subject)
                userInfo = try await self.userInfo(grant.accessToken, of: subject)
            }
        }
        (grant.confirmed, grant.asked) = (now(), now())
        if claims.groups(in: userInfo) != nil { grant.groupsFromUserInfo = true }
        return (identity(subject, grant, userInfo), grant)
    }

    private func refresh(_ grant: inout ProviderGrant, of subject: String) async throws {
        guard let token = grant.refreshToken else { throw ProviderTrouble.refused("there is no refresh token") }
        let answer = try await self.token([("grant_type", "refresh_token"), ("refresh_token", token.value)])
        if let idToken = ProviderClaims.string(answer["id_token"]) {
            let idClaims = try await documents.claims(of: idToken)
            guard try claims.checkIDToken(idClaims, nonce: nil) == subject else {
                throw ProviderTrouble.wrong("the refreshed ID token is somebody else's")
            }
            grant.idClaims = idClaims
        }
        grant.accessToken = try Self.accessToken(answer)
        grant.expires = expires(answer)
        if let newer = ProviderClaims.string(answer["refresh_token"]) { grant.refreshToken = Redacted(newer) }
    }

    private func identity(_ subject: String, _ grant: ProviderGrant, _ userInfo: JSON) -> Identity {
        claims.identity(
            subject, token: grant.idClaims, userInfo: userInfo, groupsFromUserInfo: grant.groupsFromUserInfo)
    }

    private func token(_ fields: [(String, String)]) async throws -> JSON {
        let metadata = try await documents.current()
        var fields = fields
        var authorization: String?
        if let secret = settings.clientSecret, !metadata.takesSecretInBody {
            // RFC 6749, section 2.3.1: both are form-encoded before.
            let pair = "\(IntakeClient.part(settings.clientId)):\(IntakeClient.part(secret.value))"
            authorization = "Basic " + Data(pair.utf8).base64EncodedString()
        } else {
            fields.append(("client_id", settings.clientId))
            if let secret = settings.clientSecret { fields.append(("client_secret", secret.value)) }
        }
        return try Self.json(try await requests.post(metadata.token, fields, authorization: authorization))
    }

    private func userInfo(_ token: Redacted<String>, of subject: String) async throws -> JSON {
        let answer = try Self.json(
            try await requests.get(try await documents.current().userInfo, token: token.value))
        // Section 5.3.2: else a token was put in another's place.
        guard answer["sub"] == .string(subject) else { throw ProviderTrouble.wrong("userinfo is somebody else's") }
        return answer
    }

    private func expires(_ answer: JSON) -> Date? {
        answer["expires_in"].integer.map { now().addingTimeInterval(TimeInterval($0)) }
    }

    private static func accessToken(_ answer: JSON) throws -> Redacted<String> {
        guard let token = ProviderClaims.string(answer["access_token"]),
            answer["token_type"].text?.lowercased() == "bearer", token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
        else { throw ProviderTrouble.wrong("the token answer has no access token") }
        return Redacted(token)
    }

    private static func json(_ data: Data) throws -> JSON {
        do { return try JSONDecoder().decode(JSON.self, from: data) } catch {
            throw ProviderTrouble.away("its answer is no JSON")
        }
    }
}
