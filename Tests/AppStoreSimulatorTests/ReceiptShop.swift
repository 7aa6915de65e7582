import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

/// A store with one app, `verifyReceipt` of both environments and the control routes about receipts; no socket.
struct ReceiptShop: Sendable {
    /// One answer of `verifyReceipt`, as a client reads it.
    struct Answer: Sendable {
        let http: HTTPResponse.Status
        let fields: [String: JSONValue]

        var status: Int? { fields["status"]?.double.map { Int($0) } }
        var inApp: [[String: JSONValue]] { fields["receipt"]?["in_app"]?.maps ?? [] }
        var latest: [[String: JSONValue]] { fields["latest_receipt_info"]?.maps ?? [] }
        var pending: [[String: JSONValue]] { fields["pending_renewal_info"]?.maps ?? [] }
    }

    static let bundleId = "com.example.game"
    static let secret = "the shared secret"
    /// 2025-03-01T10:20:30Z: in winter in Los Angeles.
    static let start: Int64 = 1_740_824_430_000
    static let day: Int64 = 86_400_000

    /// Made once: keys take their time.
    static let receipts = Result { try ReceiptAuthority(now: Date()) }

    let store: Store
    let receipts: ReceiptAuthority
    let demands = VerifyReceiptDemands()

    init(sharedSecret: String? = nil) async throws {
        receipts = try Self.receipts.get()
        let clock = VirtualClock(real: { Self.start + 400 * Self.day })
        let signer = try PayloadSigner(chain: try CertificateAuthority(now: Date()).chain)
        store = try Store(file: nil, signer: signer, clock: clock)
        try await store.change { state, _ in
            var app = state.ensureApp(Self.bundleId)
            app.bundleVersion = "42"
            app.sharedSecret = sharedSecret
            state.put(app)
        }
    }

    /// A transaction of alice's, in the store at once; its purchase date is so many days after the start.
    @discardableResult
    func sell(
        _ id: String, _ productId: String, _ type: ProductType, day: Int64 = 0, original: String? = nil,
        environment: StoreEnvironment = .production,
        _ change: @escaping @Sendable (inout TransactionRecord) -> Void = { _ in }
    ) async throws -> TransactionRecord {
        let date = Self.start + day * Self.day
        let isSubscription = type == .autoRenewableSubscription
        var record = TransactionRecord(
            transactionId: id, originalTransactionId: original ?? id,
            webOrderLineItemId: isSubscription ? "1\(id)" : nil, bundleId: Self.bundleId, productId: productId,
            subscriptionGroupIdentifier: isSubscription ? "21000000" : nil, purchaseDate: date,
            originalPurchaseDate: original == nil ? date : Self.start,
            expiresDate: isSubscription ? date + 30 * Self.day : nil, quantity: 1, type: type,
            environment: environment, isRenewal: original != nil, storefront: "USA", storefrontId: "143441", price: 990,
            currency: "USD", accountId: "alice", orderId: "M\(id)", modifiedDate: date)
        change(&record)
        let made = record
        try await store.change { state, now in state.put(made, now: now) }
        return made
    }

    func receipt(
        device: DeviceRecord? = nil, environment: StoreEnvironment = .production, accountId: String = "alice"
    ) async throws -> String {
        let now = store.clock.now
        let contents = await store.read { state in
            AppReceipt.contents(
                of: state, bundleId: Self.bundleId, accountId: accountId, device: device, environment: environment,
                now: now)
        }
        return Data(try receipts.receipt(contents)).base64EncodedString()
    }

    /// Posts a body to one of the two hosts.
    func verify(
        _ body: String, on environment: StoreEnvironment = .production, method: HTTPRequest.Method = .post
    ) async throws -> Answer {
        let router = Router(context: BasicRequestContext.self)
        VerifyReceipt(store: store, environment: environment, receipts: receipts, demands: demands)
            .addRoutes(to: router)
        let response = try await router.send(method, "/verifyReceipt", body)
        let fields = try? JSONDecoder().decode([String: JSONValue].self, from: response.json)
        return Answer(http: response.status, fields: fields ?? [:])
    }

    func verify(
        receipt: String, password: String? = nil, excludingOld: Bool? = nil,
        on environment: StoreEnvironment = .production
    ) async throws -> Answer {
        var json = JSONText()
        json.add("receipt-data", receipt)
        json.add("password", password)
        if let excludingOld { json.add("exclude-old-transactions", json: "\(excludingOld)") }
        return try await verify(json.object, on: environment)
    }

    /// Asks the control API.
    func control(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> TestResponse {
        let router = Router(context: BasicRequestContext.self)
        let group = router.group("simulator/v1")
        ReceiptRoutes(store: store, receipts: receipts).addRoutes(to: group)
        VerifyReceiptRoutes(demands: demands).addRoutes(to: group)
        return try await router.send(method, "/simulator/v1/\(path)", body)
    }
}

extension JSONValue {
    /// The elements of a list that are mappings.
    fileprivate var maps: [[String: JSONValue]]? { list?.compactMap(\.map) }
}
