import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

/// A store with one registered app, the API of both environments in front of it, and time that a test moves.
struct ServerAPIShop: Sendable {
    static let bundleId = "com.example.game"
    static let keyId = "ABCDEFGHIJ"
    static let issuerId = "57246542-96fe-4a63-e053-0824d011072a"

    let time = SteppedTime()
    let clock: VirtualClock
    let store: Store
    let signer: PayloadSigner
    let limiter: RateLimiter
    let key = P256.Signing.PrivateKey()

    init() async throws {
        signer = PayloadSigner(header: #"{"alg":"ES256"}"#, key: P256.Signing.PrivateKey())
        clock = time.clock()
        store = try Store(file: nil, signer: signer, clock: clock)
        limiter = RateLimiter(clock: clock)
        let pem = key.publicKey.pemRepresentation
        try await store.change { state, _ in
            state.put(Self.app(Self.bundleId, key: pem))
            state.put(Self.product("coins", .consumable))
            state.put(Self.product("sword", .nonConsumable))
            state.put(Self.product("season", .nonRenewingSubscription))
            state.put(Self.product("gold", .autoRenewableSubscription))
            state.put(Self.product("silver", .autoRenewableSubscription, group: "second"))
        }
    }

    static func app(_ bundleId: String, key: String) -> AppRecord {
        AppRecord(
            bundleId: bundleId, appAppleId: 1_234_567_890, bundleVersion: "7", isReleased: true,
            keepsNotifications: true, notificationURLs: [:], sharedSecret: nil, issuerId: issuerId,
            publicKeys: [keyId: key], gracePeriod: .off, sandboxMonth: nil, isAdvancedCommerce: false)
    }

    static func product(_ id: String, _ type: ProductType, group: String = "first") -> ProductRecord {
        let isSubscription = type == .autoRenewableSubscription
        return ProductRecord(
            bundleId: bundleId, productId: id, type: type, price: 990, currency: "USD", storefrontPrices: [:],
            subscriptionGroupIdentifier: isSubscription ? group : nil, level: 1,
            period: isSubscription ? Period(1, .month) : nil, isFamilyShareable: false, isForSale: true, offers: [])
    }

    // MARK: The store

    /// Sells, and returns the transaction's id.
    @discardableResult
    func buy(
        _ productId: String, account: String = "alice", in environment: StoreEnvironment = .production
    ) async throws -> String {
        try await store.change { state, now in
            let purchase = Purchase(
                bundleId: Self.bundleId, productId: productId, environment: environment, accountId: account)
            guard case .bought(let transaction) = try state.buy(purchase, now: now) else {
                throw Problem(.conflict, "not bought")
            }
            return transaction.id
        }
    }

    /// Changes a transaction by hand.
    func edit(_ id: String, _ change: @Sendable (inout TransactionRecord) -> Void) async throws {
        try await store.change { state, now in
            guard var row = state.transactions[id] else { throw Problem(.notFound, id) }
            change(&row)
            state.put(row, now: now)
        }
    }

    func transaction(_ id: String) async throws -> TransactionRecord {
        try #require(await store.read { $0.transactions[id] })
    }

    /// Steps the time and lets happen what is due.
    func step(_ milliseconds: Int64) async throws {
        time.step(milliseconds)
        try await store.change { state, now in
            _ = state.performDue(until: now)
        }
    }

    // MARK: Calls

    /// A token that is accepted.
    func token() throws -> String {
        let now = clock.realNow / 1_000
        return try token(
            payload: #"{"iss":"\#(Self.issuerId)","iat":\#(now),"exp":\#(now + 300),"aud":"appstoreconnect-v1","#
                + #""bid":"\#(Self.bundleId)"}"#)
    }

    /// A token that says anything, with a good signature.
    func token(
        header: String = #"{"alg":"ES256","kid":"\#(Self.keyId)","typ":"JWT"}"#, payload: String,
        key: P256.Signing.PrivateKey? = nil
    ) throws -> String {
        let input = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(Array(payload.utf8)))"
        let signature = try (key ?? self.key).signature(for: Data(input.utf8))
        return "\(input).\(Base64URL.encode([UInt8](signature.rawRepresentation)))"
    }

    /// Calls the API with a token that is accepted; `path` is below `/inApps/`.
    func call(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil,
        in environment: StoreEnvironment = .production
    ) async throws -> TestResponse {
        try await call(method, path, body, authorization: "Bearer \(try token())", in: environment)
    }

    func call(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, authorization: String?,
        in environment: StoreEnvironment = .production
    ) async throws -> TestResponse {
        let api = ServerAPI(store: store, environment: environment, signer: signer, limiter: limiter)
        let router = Router(context: BasicRequestContext.self)
        api.addRoutes(to: api.makeGroup(on: router))
        return try await router.send(
            method, "/inApps/\(path)", body, headers: authorization.map { [.authorization: $0] } ?? [:])
    }

    func control(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> TestResponse {
        let router = Router(context: BasicRequestContext.self)
        router.add(middleware: ProblemMiddleware())
        ServerAPIControlRoutes(store: store, limiter: limiter).addRoutes(to: router.group("simulator/v1"))
        return try await router.send(method, "/simulator/v1/\(path)", body)
    }

    /// Calls and decodes the answer of a call that must succeed.
    func get<Answer: Decodable>(
        _ type: Answer.Type, _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil,
        in environment: StoreEnvironment = .production
    ) async throws -> Answer {
        let response = try await call(method, path, body, in: environment)
        try #require(response.status == .ok, "\(path): \(String(buffer: response.body))")
        #expect(response.headers[.contentType] == "application/json")
        return try JSONDecoder().decode(Answer.self, from: response.json)
    }

    /// Calls what must be refused; the error's code.
    func refusal(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil,
        in environment: StoreEnvironment = .production
    ) async throws -> Int64? {
        let response = try await call(method, path, body, in: environment)
        guard let refusal = try? JSONDecoder().decode(Refusal.self, from: response.json) else { return nil }
        // Apple's libraries read the error only from exactly this content type.
        #expect(response.headers[.contentType] == "application/json")
        #expect(response.status.code == refusal.errorCode / 10_000)
        #expect(!refusal.errorMessage.isEmpty)
        return refusal.errorCode
    }

    struct Refusal: Decodable {
        let errorCode: Int64
        let errorMessage: String
    }
}

extension Router<BasicRequestContext> {
    /// Has a request answered, without a socket.
    func send(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, headers: HTTPFields = [:]
    ) async throws -> TestResponse {
        try await send(method, path, bytes: body.map { ByteBuffer(string: $0) }, headers: headers)
    }

    func send(
        _ method: HTTPRequest.Method, _ path: String, bytes: ByteBuffer?, headers: HTTPFields = [:]
    ) async throws -> TestResponse {
        try await Application(router: self).test(.router) { client in
            try await client.execute(uri: path, method: method, headers: headers, body: bytes)
        }
    }
}

// MARK: What the API answers

struct HistoryAnswer: Decodable {
    let revision: String
    let hasMore: Bool
    let bundleId: String?
    let appAppleId: Int64?
    let environment: String?
    let signedTransactions: [String]

    func transactionIds() throws -> [String] {
        try signedTransactions.map { try SignedFields($0).transactionId ?? "" }
    }
}

/// What tests look at in a signed payload.
struct SignedFields: Decodable {
    let transactionId: String?
    let originalTransactionId: String?
    let signedDate: Int64?
    let expiresDate: Int64?
    let appAccountToken: String?
    let appTransactionId: String?
    let autoRenewProductId: String?
    let notificationType: String?
    let subtype: String?

    init(_ jws: String) throws {
        let parts = jws.split(separator: ".")
        try #require(parts.count == 3)
        self = try JSONDecoder().decode(SignedFields.self, from: try #require(Base64URL.decode(parts[1])))
    }
}
