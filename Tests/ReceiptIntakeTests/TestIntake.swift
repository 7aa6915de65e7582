import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import Messages
import NIOCore
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime
import Synchronization
import Testing

@testable import ReceiptIntake

/// The whole of intake but Kafka: what would be published is kept here.
struct TestIntake: Sendable {
    static let app = "com.example.game"
    static let otherApp = "com.example.other"
    static let serverKey = "csk_of_the_game"
    static let otherServerKey = "csk_of_the_other"
    static let otherOperatorKey = "csk_of_the_others_operator"
    /// It may post and read for the game, and only read for the other.
    static let sharedKey = "csk_of_both"
    /// A test key of the game with every scope.
    static let testKey = "csk_test_of_the_game"
    /// The same without saying so by its name.
    static let plainTestKey = "csk_of_the_sandbox"
    /// The same, which the apps file does not know to be one.
    static let namedTestKey = "csk_test_by_its_name"

    /// It acts for people.
    static let deskKey = "csk_of_the_desk"
    /// It looks for people.
    static let consoleKey = "csk_of_the_console"

    /// A key of the game with one scope alone.
    static func key(_ scope: ServerKey.Scope) -> String { "csk_that_may_\(scope.rawValue)" }

    let pool: PostgresPool
    let waiters: OutcomeWaiters
    let client: any TestClientProtocol
    let published: Mutexed<[SubmissionStore.NewSubmission]>
    let routes: [IntakeRoute]
    let keyUses: ServerKeyUses

    /// Runs intake on a database.
    ///
    /// - Parameters:
    ///   - settings: keys of the configuration that a test sets.
    ///   - possession: what the app takes for a proof.
    ///   - logger: where the parts write.
    ///   - onPublish: told of every new row after its commit.
    static func with<Value: Sendable>(
        url: String, setup: TestingSetup = .router, queueMaximum: Int = 1000, waitersMaximum: Int = 100,
        settings: [String: String] = [:], possession: AppsFile.PossessionPolicy = .proof,
        logger: Logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
        onPublish: @escaping @Sendable (SubmissionStore.NewSubmission, OutcomeWaiters) -> Void = { _, _ in },
        _ body: @Sendable (TestIntake) async throws -> Value
    ) async throws -> Value {
        let appsFile = try appsFile(possession)
        defer { try? FileManager.default.removeItem(at: appsFile) }
        let configuration = try Configuration(
            SettingReader(
                [
                    "postgres.url": url, "kafka.bootstrap_servers": "127.0.0.1:1", "apps.file": appsFile.path,
                    "http.port": "0", "trusted.foreign_roots": "allowed",
                    "trusted.roots": try #require(SigningStore.shared).root, "webhooks.key": EndpointSamples.key,
                ].merging(settings) { $1 }))
        let pool = PostgresPool(configuration: configuration.postgres, logger: logger)
        let store = SubmissionStore(pool: pool)
        let waiters = OutcomeWaiters(waitersMaximum: waitersMaximum)
        let published = Mutexed<[SubmissionStore.NewSubmission]>([])
        func batcher() -> SubmissionBatcher {
            SubmissionBatcher(queueMaximum: queueMaximum) {
                try await store.accept($0, lease: .seconds(30))
            } onAccepted: { rows in
                published.withLock { $0 += rows }
                for row in rows { onPublish(row, waiters) }
            }
        }
        let (batcher, notifications) = (batcher(), batcher())
        let signatures = NotificationSignatures(roots: configuration.roots)
        defer { signatures.stop() }
        let apps = try AppsFile.load(path: configuration.appsFile, environment: OfferSamples.environment)
        let authenticator = await Authenticator(apps: apps, keySets: [:])
        let events = EventReaders(pool: pool, configuration: configuration)
        let server = IntakeServer(
            configuration: configuration, authenticator: authenticator,
            submissions: PurchaseSubmissions(
                batcher: batcher, waiters: waiters, statuses: { try await store.statuses(of: $0) },
                possession: PossessionAnswers { authenticator.possession(app: $0) == .number }),
            notifications: NotificationSubmissions(batcher: notifications),
            accountTokens: AccountTokens(
                store: Assembly.register(with: AccountTokenStore(pool: pool)),
                lastForgotten: { try await ForgetRequestStore(pool: pool).newest() }),
            stores: IntakeStores(pool: pool), signatures: signatures, offers: try OfferSigners(apps, path: ""),
            events: events, logger: logger)
        let value = try await withThrowingTaskGroup(of: Void.self) { group in
            for queue in [batcher, notifications] { group.addTask { try await queue.run() } }
            group.addTask { try await events.tail.task(logger: logger).run() }
            defer { group.cancelAll() }
            return try await server.application().test(setup) { client in
                try await body(
                    TestIntake(
                        pool: pool, waiters: waiters, client: client, published: published, routes: server.routes,
                        keyUses: authenticator.keyUses))
            }
        }
        await pool.close()
        return value
    }

    private static func appsFile(_ possession: AppsFile.PossessionPolicy) throws -> URL {
        let file = FileManager.default.temporaryDirectory.appending(path: "apps-\(UUID().uuidString).yaml")
        try apps(possession).write(to: file, atomically: true, encoding: .utf8)
        return file
    }

    private static func apps(_ possession: AppsFile.PossessionPolicy) -> String {
        func hash(_ key: String) -> String {
            SHA256.hash(data: Data(key.utf8)).map { String(format: "%02x", $0) }.joined()
        }
        let scoped = ServerKey.Scope.allCases.map { scope in
            "{ name: only-\(scope.rawValue), sha256: \"\(hash(key(scope)))\", scopes: [\(scope.rawValue)] }"
        }.joined(separator: ", ")
        let desk = "{ name: desk, sha256: \"\(hash(deskKey))\", scopes: [operate, staff] }"
        let console = "{ name: console, sha256: \"\(hash(consoleKey))\", scopes: [read, staff] }"
        func shared(_ scopes: String) -> String {
            "{ name: shared, sha256: \"\(hash(sharedKey))\", scopes: [\(scopes)] }"
        }
        let all = ServerKey.Scope.allCases.map(\.rawValue).joined(separator: ", ")
        let tests = [(testKey, ", environment: sandbox"), (plainTestKey, ", environment: sandbox"), (namedTestKey, "")]
            .map { key, rest in "{ name: \(key), sha256: \"\(hash(key))\", scopes: [\(all)]\(rest) }" }
            .joined(separator: ", ")
        return """
            apps:
              - bundle_id: \(app)
                possession: \(possession.rawValue)
                subscription_offers: \(OfferSamples.setting)
                authentication:
                  jwt: { hs256_secret: "\(TestTokens.secret)" }
                  api_keys_sha256: [\(hash(serverKey))]
                  api_keys: [\(scoped), \(shared("post, read")), \(desk), \(console), \(tests)]
              - bundle_id: \(otherApp)
                authentication:
                  jwt: { hs256_secret: "the secret of the other app of the tests" }
                  api_keys_sha256: [\(hash(otherServerKey))]
                  api_keys:
                    - \(shared("read"))
                    - { name: operator, sha256: "\(hash(otherOperatorKey))", scopes: [operate] }
            """
    }

    /// What was first sent on, once it is: that comes after the caller has its answer.
    func firstPublished() async -> SubmissionMessage {
        while true {
            if let first = published.withLock({ $0.first }) { return first.message }
            await Task.yield()
        }
    }

    /// Sends a request.
    func send(
        _ method: HTTPRequest.Method, _ path: String, token: String?, body: String? = nil,
        headers more: HTTPFields = [:]
    ) async throws -> Answer {
        var headers: HTTPFields = [:]
        if let token { headers[.authorization] = "Bearer \(token)" }
        if body != nil { headers[.contentType] = "application/json" }
        for field in more { headers[field.name] = field.value }
        let response = try await client.executeRequest(
            uri: path, method: method, headers: headers, body: body.map { ByteBuffer(string: $0) })
        return Answer(response: response)
    }

    /// Posts a proof.
    func post(_ proof: String, as token: String, wait: Int = 0, headers: HTTPFields = [:]) async throws -> Answer {
        try await send(
            .post, "/v1/purchases?wait=\(wait)", token: token,
            body: "{\"app\":\"\(Self.app)\",\"signed_transaction\":\"\(proof)\",\"unknown\":{\"a\":[1]}}",
            headers: headers)
    }

    /// Posts fields with whatever proof they hold.
    func post(
        fields: [String: String], as token: String, wait: Int = 0, headers: HTTPFields = [:]
    ) async throws -> Answer {
        let body = try JSONSerialization.data(withJSONObject: fields.merging(["app": Self.app]) { $1 })
        return try await send(
            .post, "/v1/purchases?wait=\(wait)", token: token, body: String(decoding: body, as: UTF8.self),
            headers: headers)
    }

    /// What came back.
    struct Answer: Sendable {
        let response: TestResponse

        var status: Int { response.status.code }
        var headers: HTTPFields { response.headers }
        var text: String { String(buffer: response.body) }

        /// The code of a problem.
        var slug: String? {
            guard headers[.contentType] == "application/problem+json" else { return nil }
            return fields["code"] as? String
        }

        /// The members of the JSON body.
        var fields: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(response.body.readableBytesView)) as? [String: Any]) ?? [:]
        }

        var id: String { fields["id"] as? String ?? "" }
        var state: String { fields["state"] as? String ?? "" }
        var finish: Bool? { fields["finish"] as? Bool }
    }
}

/// Something that several tasks change.
final class Mutexed<Value: Sendable>: Sendable {
    private let mutex: Mutex<Value>

    init(_ value: Value) { mutex = Mutex(value) }

    @discardableResult
    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        mutex.withLock { value in body(&value) }
    }
}
