import Foundation
import JSONWebKeys
import JWTKit

/// A provider's metadata and keys, asked for when they are wanted and kept for a while.
actor ProviderDocuments {
    enum Limit {
        /// Seconds that they are kept.
        static let age: TimeInterval = 3_600
        /// Seconds between looks for an unknown key: anybody can invent a token with one.
        static let unknownKey: TimeInterval = 30
        /// Seconds until a provider that did not answer is asked again: anybody can begin log-ins.
        static let pause: TimeInterval = 5
        /// Keys that are tried for a token that names none.
        static let keysTried = 4
        /// Bytes of a token.
        static let tokenBytes = 64 << 10
    }

    private let issuer: String
    private let requests: ProviderRequests
    private let now: @Sendable () -> Date
    private var metadata: (value: ProviderMetadata, at: Date)?
    private var failure: (trouble: ProviderTrouble, at: Date)?
    private var keySet: (value: KeySet, at: Date)?

    init(issuer: String, requests: ProviderRequests, now: @escaping @Sendable () -> Date) {
        (self.issuer, self.requests, self.now) = (issuer, requests, now)
    }

    /// - Throws: `ProviderTrouble`.
    func current() async throws -> ProviderMetadata {
        if let metadata, now().timeIntervalSince(metadata.at) < Limit.age { return metadata.value }
        if let failure, now().timeIntervalSince(failure.at) < Limit.pause { throw failure.trouble }
        do {
            let value = try await discovered()
            (metadata, failure) = ((value, now()), nil)
            return value
        } catch let trouble as ProviderTrouble {
            failure = (trouble, now())
            throw trouble
        }
    }

    private func discovered() async throws -> ProviderMetadata {
        let data = try await requests.get(ProviderMetadata.address(of: issuer))
        guard let document = try? JSONDecoder().decode(JSON.self, from: data) else {
            throw ProviderTrouble.away("its discovery document is no JSON")
        }
        return try ProviderMetadata(document, issuer: issuer)
    }

    /// The claims of a token that one of the provider's keys has signed; nothing else of them is checked.
    ///
    /// The algorithm that it names chooses the kind of key, and each key knows one: `none` and HS256 reach no key at all.
    ///
    /// - Throws: `ProviderTrouble`.
    func claims(of token: String) async throws -> JSON {
        guard token.utf8.count <= Limit.tokenBytes,
            let header = try? DefaultJWTParser().parse(Array(token.utf8), as: SignedClaims.self).header
        else { throw ProviderTrouble.wrong("the token is no JWT") }
        // RFC 7515, section 4.1.11: who does not understand a critical extension must refuse.
        guard header.crit == nil else { throw ProviderTrouble.wrong("the token has critical extensions") }
        guard let algorithm = header.alg, KeySet.algorithms.contains(algorithm) else {
            throw ProviderTrouble.wrong("the token's algorithm is not asymmetric")
        }
        var keys = try await keys(olderThan: Limit.age).keys(algorithm: algorithm, identifier: header.kid)
        if keys.isEmpty {
            keys = try await self.keys(olderThan: Limit.unknownKey).keys(algorithm: algorithm, identifier: header.kid)
        }
        guard !keys.isEmpty else { throw ProviderTrouble.wrong("the token's key is not the provider's") }
        for key in keys.prefix(Limit.keysTried) {
            if let claims = try? await key.verify(token, as: SignedClaims.self).claims { return claims }
        }
        throw ProviderTrouble.wrong("the token's signature is not the provider's")
    }

    /// The keys, fetched anew where they are older than so many seconds.
    private func keys(olderThan age: TimeInterval) async throws -> KeySet {
        if let keySet, now().timeIntervalSince(keySet.at) < age { return keySet.value }
        let data = try await requests.get(try await current().keys)
        do {
            let value = try await KeySet(data)
            keySet = (value, now())
            return value
        } catch let error as KeySetError {
            throw ProviderTrouble.away(error.description)
        }
    }
}

/// The whole payload of a token.
private struct SignedClaims: JWTPayload {
    let claims: JSON

    init(from decoder: any Decoder) throws { claims = try JSON(from: decoder) }

    func encode(to encoder: any Encoder) throws { try claims.encode(to: encoder) }

    /// Says nothing: the claims depend on configuration and time, and are checked where they are used.
    func verify(using algorithm: some JWTAlgorithm) async throws {}
}
