import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

/// An app with one subscription product and one subscriber in each environment, and the routes of retention messaging
/// in front of them, without the check of tokens.
struct RetentionShop {
    static let bundleId = "com.example.game"
    static let productId = "gold.monthly"

    let store: Store
    let sender: RealtimeSender
    let tester: PerformanceTester

    init() async throws {
        let signer = PayloadSigner(header: #"{"alg":"ES256"}"#, key: P256.Signing.PrivateKey())
        store = try Store(file: nil, signer: signer, clock: VirtualClock())
        sender = RealtimeSender(signer: signer, clock: store.clock)
        tester = PerformanceTester(store: store, sender: sender)
        try await store.change { state, now in
            state.put(Self.app)
            state.put(Self.product)
            for environment in StoreEnvironment.allCases {
                state.put(Self.transaction(in: environment, now), now: now)
                state.put(Self.subscription(in: environment, now))
            }
        }
    }

    static func transactionId(in environment: StoreEnvironment) -> String {
        environment == .production ? "2000000000000001" : "2000000000000002"
    }

    /// Sends a request to an environment's API, or to the control API when there is none.
    func request(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, bytes: [UInt8]? = nil,
        in environment: StoreEnvironment? = .sandbox
    ) async throws -> TestResponse {
        let router = Router(context: BasicRequestContext.self)
        var prefix = "/simulator/v1/"
        if let environment {
            prefix = "/inApps/v1/"
            let group = router.group("inApps/v1", context: ServerAPIContext.self)
                .add(middleware: APIErrorMiddleware()).add(middleware: Admission())
            RetentionMessaging(store: store, environment: environment).addRoutes(to: group)
            PerformanceTestRoutes(store: store, environment: environment, tester: tester).addRoutes(to: group)
        } else {
            RetentionMessagingRoutes(store: store, sender: sender).addRoutes(to: router.group("simulator/v1"))
        }
        let buffer = body.map { ByteBuffer(string: $0) } ?? bytes.map { ByteBuffer(bytes: $0) }
        return try await router.send(method, prefix + path, bytes: buffer)
    }

    /// Sends a request that must succeed.
    func succeed(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, bytes: [UInt8]? = nil,
        in environment: StoreEnvironment? = .sandbox
    ) async throws {
        let response = try await request(method, path, body, bytes: bytes, in: environment)
        #expect(response.status == .ok, "\(method) \(path): \(String(buffer: response.body))")
    }

    /// Sends a request that must be refused; the error's code.
    func refusal(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, bytes: [UInt8]? = nil,
        in environment: StoreEnvironment? = .sandbox
    ) async throws -> Int64? {
        struct Refusal: Decodable { let errorCode: Int64 }
        let response = try await request(method, path, body, bytes: bytes, in: environment)
        let refusal = try? JSONDecoder().decode(Refusal.self, from: response.json)
        // The first three digits of a code are its status.
        if let code = refusal?.errorCode { #expect(code / 10_000 == response.status.code) }
        return refusal?.errorCode
    }

    /// A PNG's head and the beginning of its pixels.
    static func png(_ width: UInt32, _ height: UInt32, colourType: UInt8 = 2, transparent: Bool = false) -> [UInt8] {
        func number(_ value: UInt32) -> [UInt8] {
            (0..<4).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
        func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
            number(UInt32(data.count)) + Array(name.utf8) + data + [0, 0, 0, 0]
        }
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + chunk("IHDR", number(width) + number(height) + [8, colourType, 0, 0, 0])
            + (transparent ? chunk("tRNS", [0, 0, 0, 0, 0, 0]) : []) + chunk("IDAT", [0])
    }

    /// Lets everybody in as the app.
    private struct Admission: RouterMiddleware {
        func handle(
            _ request: Request, context: ServerAPIContext, next: (Request, ServerAPIContext) async throws -> Response
        ) async throws -> Response {
            var context = context
            context.app = RetentionShop.app
            return try await next(request, context)
        }
    }

    fileprivate static let app = AppRecord(
        bundleId: bundleId, appAppleId: 1_234_567_890, bundleVersion: "1", isReleased: true, keepsNotifications: false,
        notificationURLs: [:], issuerId: "issuer", publicKeys: [:], gracePeriod: .off, isAdvancedCommerce: false)

    private static let product = ProductRecord(
        bundleId: bundleId, productId: productId, type: .autoRenewableSubscription, price: 9_990, currency: "USD",
        storefrontPrices: [:], subscriptionGroupIdentifier: "20000001", level: 1, period: Period("P1M"),
        isFamilyShareable: false, isForSale: true, offers: [])

    private static func transaction(in environment: StoreEnvironment, _ now: Int64) -> TransactionRecord {
        let id = transactionId(in: environment)
        return TransactionRecord(
            transactionId: id, originalTransactionId: id, bundleId: bundleId, productId: productId, purchaseDate: now,
            originalPurchaseDate: now, quantity: 1, type: .autoRenewableSubscription, environment: environment,
            storefront: "USA", storefrontId: "143441", accountId: "alice", orderId: "MTMQK8XXQW", modifiedDate: now)
    }

    private static func subscription(in environment: StoreEnvironment, _ now: Int64) -> SubscriptionRecord {
        let id = transactionId(in: environment)
        return SubscriptionRecord(
            originalTransactionId: id, bundleId: bundleId, subscriptionGroupIdentifier: "20000001", accountId: "alice",
            environment: environment, productId: productId, autoRenewProductId: productId, autoRenews: true,
            status: .active, recentSubscriptionStartDate: now, renewalDate: now + 1, transactionId: id,
            renewalPrice: 9_990, currency: "USD")
    }
}
