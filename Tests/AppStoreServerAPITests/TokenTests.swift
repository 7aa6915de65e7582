import Crypto
import Foundation
import Synchronization
import Testing

@testable import AppStoreServerAPI

/// Tokens: as Apple asks, used for a while, never shown.
@Suite
struct TokenTests {
    private struct Header: Decodable, Equatable {
        let alg: String, kid: String, typ: String
    }

    private struct Claims: Decodable {
        let iss: String, iat: Double, exp: Double, aud: String, bid: String
    }

    /// A clock that is set by hand.
    private final class Hands: Sendable {
        let seconds = Mutex(1_700_000_000.9)
        var now: Date { Date(timeIntervalSince1970: seconds.withLock { $0 }) }
        func move(by step: Double) { seconds.withLock { $0 += step } }
    }

    @Test func aTokenIsUsedForTwentyMinutesAndThenMadeAnew() throws {
        let clock = Hands()
        let key = try Self.key()
        let cache = TokenCache(key: key, bundleId: "com.example.game", now: { clock.now })
        let first = try cache.token()
        clock.move(by: 1_199)
        #expect(try cache.token() == first)
        clock.move(by: 1)
        let second = try cache.token()
        #expect(second != first)
        let told: Claims = try claims(second)
        #expect(told.iss == "issuer" && told.aud == "appstoreconnect-v1" && told.bid == "com.example.game")
        #expect(told.iat == 1_700_001_200.9 && told.exp == 1_700_003_000.9)
        // Set back, it would be from the future.
        clock.move(by: -60)
        #expect(try cache.token() != second)
    }

    /// With whole seconds, transactions of Catalyst apps have been unknown to Apple.
    @Test(arguments: [(1_700_000_000.0, 1_699_999_999.999), (1_700_000_000.000_4, 1_699_999_999.999), (7.125, 7.125)])
    func itsTimesAreNeverWholeSeconds(now: Double, issued: Double) throws {
        let date = Date(timeIntervalSince1970: now)
        let told: Claims = try claims(TokenCache(key: try Self.key(), bundleId: "b", now: { date }).token())
        #expect(told.iat == issued && told.iat <= now)
        #expect(told.exp == issued + 1_800)
    }

    @Test func itsSignatureAndHeaderAreApples() throws {
        let key = try Self.key()
        let token = try TokenCache(key: key, bundleId: "b", now: { Date() }).token()
        let parts = token.split(separator: ".")
        #expect(parts.count == 3 && !token.contains("=") && !token.contains("+") && !token.contains("/"))
        #expect(try claims("x.\(parts[0]).x", as: Header.self) == Header(alg: "ES256", kid: "ABCDEFGHIJ", typ: "JWT"))
        let base64 = String(parts[2]).replacing("-", with: "+").replacing("_", with: "/") + "=="
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: try #require(Data(base64Encoded: base64)))
        #expect(key.privateKey.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test func aRefusedTokenIsForgottenOnce() throws {
        let cache = TokenCache(key: try Self.key(), bundleId: "b", now: { Date(timeIntervalSince1970: 1) })
        let first = try cache.token()
        cache.forget("another")
        #expect(try cache.token() == first)
        cache.forget(first)
        // ECDSA is random: the same claims are signed otherwise.
        #expect(try cache.token() != first)
    }

    @Test func manyAtOnceGetTheSame() async throws {
        let cache = TokenCache(key: try Self.key(), bundleId: "b", now: { Date(timeIntervalSince1970: 1) })
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try cache.token() } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(tokens.count == 1)
    }

    @Test func aKeyIsCheckedAndNeverShown() throws {
        let pem = P256.Signing.PrivateKey().pemRepresentation
        #expect(throws: SigningKey.Problem.notAPrivateKey) { try SigningKey(issuerId: "i", keyId: "k", pem: "no key") }
        #expect(throws: SigningKey.Problem.noIssuerId) { try SigningKey(issuerId: "", keyId: "k", pem: pem) }
        #expect(throws: SigningKey.Problem.noKeyId) { try SigningKey(issuerId: "i", keyId: "", pem: pem) }
        let key = try SigningKey(issuerId: "i", keyId: "k", pem: pem)
        var dumped = ""
        dump(key, to: &dumped)
        #expect("\(key)" == "SigningKey(k, <redacted>)" && String(reflecting: key) == "\(key)")
        #expect(!dumped.contains("rivate"))
    }

    private static func key() throws -> SigningKey {
        try SigningKey(
            issuerId: "issuer", keyId: "ABCDEFGHIJ", pem: P256.Signing.PrivateKey().pemRepresentation)
    }
}
