import Foundation
import HTTPTypes
import Hummingbird

/// Starting performance tests and reading their results; Apple has them in the sandbox only, the simulator in both.
struct PerformanceTestRoutes: Sendable {
    /// The locale that test requests name.
    static let locale = "en-US"

    let store: Store
    let environment: StoreEnvironment
    let tester: PerformanceTester

    /// Adds `messaging/performanceTest…` to the group at `/inApps/v1`.
    func addRoutes(to group: RouterGroup<ServerAPIContext>) {
        struct Body: Decodable {
            let originalTransactionId: String
        }
        let routes = group.group("messaging/performanceTest")
        routes.post { request, context in
            let app = try context.caller()
            let body = try await APIBody.decode(Body.self, from: request, or: .invalidPerformanceTestRequest)
            let run = try await prepare(body.originalTransactionId, app)
            guard tester.start(run) else { throw APIError.performanceTestIsRunning }
            return APIAnswer.json(run.test.startedJSON)
        }
        routes.get("result/:identifier") { _, context in
            let app = try context.caller()
            guard let identifier = context.parameters.get("identifier"), UUID(uuidString: identifier) != nil else {
                throw APIError.invalidPerformanceTestId
            }
            let test = await store.read { state in
                state.retentionItem(
                    PerformanceTest.self, identifier.lowercased(), of: app.bundleId, in: environment)
            }
            guard let test else { throw APIError.performanceTestNotFound }
            return APIAnswer.json(test.resultJSON(realNow: store.clock.realNow))
        }
    }

    /// Checks what a test needs and keeps that it runs.
    private func prepare(_ originalTransactionId: String, _ app: AppRecord) async throws -> PerformanceTester.Run {
        let realNow = store.clock.realNow
        return try await store.change { state, _ in
            let transaction = try state.testableTransaction(originalTransactionId, of: app.bundleId, in: environment)
            guard let url = state.retentionItem(RetentionURL.self, of: app.bundleId, in: environment) else {
                throw APIError.realtimeURLNotFound
            }
            var tests = state.retentionItems(PerformanceTest.self, of: app.bundleId, in: environment)
            guard !tests.contains(where: { $0.isRunning(realNow: realNow) }) else {
                throw APIError.performanceTestIsRunning
            }
            tests.sort { $0.startedDate < $1.startedDate }
            for old in tests.dropLast(StoreState.RetentionLimit.performanceTests - 1) {
                state.removeRetention(PerformanceTest.self, old.key, of: app.bundleId, in: environment)
            }
            let test = PerformanceTest(
                requestId: UUID().uuidString.lowercased(), originalTransactionId: originalTransactionId,
                target: url.realtimeURL, startedDate: realNow)
            try state.putRetention(test, of: app.bundleId, in: environment)
            let request = RealtimeRequest(
                originalTransactionId: originalTransactionId, appAppleId: app.appAppleId,
                productId: state.subscriptions[originalTransactionId]?.productId ?? transaction.productId,
                userLocale: Self.locale, environment: environment)
            return PerformanceTester.Run(bundleId: app.bundleId, test: test, request: request)
        }
    }
}

extension StoreState {
    /// The first transaction of a lineage that a performance test may use.
    ///
    /// - Throws: the ``APIError`` that Apple's page names (Initiate Performance Test).
    fileprivate func testableTransaction(
        _ id: String, of bundleId: String, in environment: StoreEnvironment
    ) throws -> TransactionRecord {
        guard downloadKeys[id] == nil else { throw APIError.appTransactionIdNotSupported }
        guard let transaction = transactions[id], transaction.bundleId == bundleId,
            transaction.environment == environment
        else { throw APIError.invalidTransactionId }
        guard transaction.originalTransactionId == id else { throw APIError.transactionIdNotOriginalTransactionId }
        guard !transaction.isFamilyShared else { throw APIError.familyTransactionNotSupported }
        return transaction
    }
}
