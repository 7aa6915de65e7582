import AppStore
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import Testing

@testable import AppStoreSimulator

/// A store with what sends its notifications, whose time stands still until it is advanced.
struct NotificationDesk {
    static let bundleId = "com.example.game"

    let authority: CertificateAuthority
    let store: Store
    let sender: NotificationSender
    let timeline: Timeline

    /// - Parameter url: where notifications of both environments go.
    init(
        url: String? = nil, faults: FaultBook? = nil, timeout: Duration = .seconds(20)
    ) async throws {
        authority = try CertificateAuthority(now: Date())
        let time = SteppedTime(Int64(Date().timeIntervalSince1970 * 1_000))
        store = try Store(file: nil, signer: try PayloadSigner(chain: authority.chain), clock: time.clock())
        let sender = NotificationSender(store: store, faults: faults, timeout: timeout)
        self.sender = sender
        timeline = Timeline(store: store, logger: Logger(label: "test")) { await sender.deliver($0) }
        try await store.change { state, _ in
            var app = state.ensureApp(Self.bundleId)
            app.keepsNotifications = true
            if let url { app.notificationURLs = [.production: url, .sandbox: url] }
            state.put(app)
            state.prepareTrigger(.plans, bundleId: Self.bundleId)
        }
    }

    /// Runs a test with a desk, and closes it.
    static func with(
        url: String? = nil, faults: FaultBook? = nil, timeout: Duration = .seconds(20),
        _ body: (NotificationDesk) async throws -> Void
    ) async throws {
        let desk = try await NotificationDesk(url: url, faults: faults, timeout: timeout)
        do {
            try await body(desk)
        } catch {
            await desk.close()
            throw error
        }
        await desk.close()
    }

    private func close() async {
        await sender.shutdown()
        await store.close()
    }

    var verifier: SignedDataVerifier {
        get throws {
            let fingerprint = try CertificateAuthority.fingerprint(of: authority.root)
            return SignedDataVerifier(roots: try TrustedRoots(fingerprints: [fingerprint]))
        }
    }

    /// A signed payload, checked, as JSON.
    func verified(_ jws: String) throws -> OrderedJSON {
        try #require(OrderedJSON(try verifier.payload(Array(jws.utf8)).get().bytes))
    }

    /// A signed app transaction, its signature checked by the leaf's key: it has no signedDate.
    func verifiedAppTransaction(_ jws: String) throws -> OrderedJSON {
        let parts = jws.split(separator: ".")
        try #require(parts.count == 3)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: try #require(Base64URL.decode(parts[2])))
        let isValid = authority.leafKey.publicKey.isValidSignature(
            signature, for: Data("\(parts[0]).\(parts[1])".utf8))
        #expect(isValid)
        let payload = try #require(Base64URL.decode(parts[1]))
        return try #require(OrderedJSON([UInt8](payload)))
    }

    /// Buys coins; a notification comes of it.
    @discardableResult
    func buyCoins(account: String = "alice", environment: StoreEnvironment = .production) async throws -> String {
        try await store.change { state, now in
            let outcome = try state.buy(
                Purchase(
                    bundleId: Self.bundleId, productId: "\(Self.bundleId).coins", environment: environment,
                    accountId: account), now: now)
            return outcome.transaction?.transactionId ?? ""
        }
    }

    /// All notifications, oldest first.
    func notifications() async -> [NotificationRecord] {
        await store.read { $0.notificationsInOrder(after: 0, limit: 1_000) }
    }

    /// Sends what is due.
    func send() async throws { try await timeline.catchUp() }

    func advance(hours: Int64) async throws {
        _ = try await timeline.advance(to: store.clock.now + hours * 3_600_000)
    }

    /// Calls the control API below `/simulator/v1/`.
    func request(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> TestResponse {
        let router = Router(context: BasicRequestContext.self)
        router.add(middleware: ProblemMiddleware())
        NotificationRoutes(store: store).addRoutes(to: router.group("simulator/v1"))
        return try await router.send(method, "/simulator/v1/\(path)", body)
    }

    /// Calls the control API and requires 200.
    @discardableResult
    func control(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> OrderedJSON {
        let response = try await request(method, path, body)
        try #require(response.status == .ok, "\(method) \(path): \(String(buffer: response.body))")
        return try #require(OrderedJSON([UInt8](response.body.readableBytesView)))
    }
}

extension OrderedJSON {
    /// The elements, if it is an array.
    var elements: [OrderedJSON] { if case .array(let values) = self { values } else { [] } }

    /// The names of the fields, if it is an object.
    var names: [String] { if case .object(let fields) = self { fields.map(\.name) } else { [] } }

    /// The whole number, if it is one.
    var number: Int64? { if case .literal(let text) = self { Int64(text) } else { nil } }

    /// What a path leads to.
    func at(_ path: String) -> OrderedJSON? {
        path.split(separator: ".").reduce(self as OrderedJSON?) { $0?[String($1)] }
    }
}
