import AppStoreServerAPI
import AsyncHTTPClient
import Foundation
import NIOCore
import ServiceRuntime

/// Calls Apple with an app's key.
struct AppleCheck: Sendable {
    enum Limit {
        /// Between questions about the test notification: Apple allows one a second (ADP, Identifying rate limits).
        static let pause = Duration.seconds(2)
        /// How long a connection may take to be made.
        static let connect = TimeAmount.seconds(10)
        /// How far back the question goes that shows whether the key is good.
        static let history: TimeInterval = 86_400
    }

    private let judgement: AppleJudgement
    private let client: AppStoreServerClient
    private let http: HTTPClient
    private let wait: Duration
    private let sendsNotification: Bool

    /// - Throws: `ToolFailure` where the app has no key, or one that cannot be used.
    init(app: AppsFile.App, hosts: AppStoreHosts, wait: Duration, sendsNotification: Bool) throws(ToolFailure) {
        guard let entry = app.serverAPI else {
            throw ToolFailure(
                "\(app.bundleId) has no `app_store_server_api`: make an In-App Purchase key in App Store Connect "
                    + "(Users and Access, Integrations), and write its ids and its .p8 file into the apps file")
        }
        guard let key = try? SigningKey(issuerId: entry.issuerId, keyId: entry.keyId, pem: entry.privateKey.value)
        else { throw ToolFailure("the private key of \(app.bundleId) is not the .p8 file of App Store Connect") }
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = Limit.connect
        http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        client = AppStoreServerClient(http: http, key: key, bundleId: app.bundleId, hosts: hosts)
        judgement = AppleJudgement(
            bundleId: app.bundleId, issuerId: entry.issuerId, keyId: entry.keyId, isReleased: app.isReleased)
        self.wait = wait
        self.sendsNotification = sendsNotification
    }

    /// What was found in an environment: of the key, and of the notification where the key is good.
    func run(in environment: AppStoreEnvironment) async -> [Finding] {
        do {
            let now = Date()
            let request = NotificationHistoryRequest(
                startDate: now.addingTimeInterval(-Limit.history), endDate: now)
            _ = try await client.notificationHistory(request, in: environment)
        } catch {
            return [judgement.ofKey(error, in: environment)]
        }
        let key = Finding.good("key", "\(AppleJudgement.name(environment)): Apple accepts the key")
        guard sendsNotification else { return [key] }
        return [key, await notification(in: environment)]
    }

    /// Has a test notification sent, and says what came of it.
    func notification(in environment: AppStoreEnvironment) async -> Finding {
        do {
            let token = try await client.requestTestNotification(in: environment)
            return try await status(of: token, in: environment)
        } catch {
            return judgement.ofNotification(error, in: environment)
        }
    }

    /// Ends the connections.
    func close() async {
        try? await http.shutdown()
    }

    /// Asks until Apple has tried to send it, or the time is over.
    private func status(of token: String, in environment: AppStoreEnvironment) async throws -> Finding {
        let end = ContinuousClock.now + wait
        while true {
            do {
                let sent = try await client.testNotificationStatus(token, in: environment)
                if let result = sent.sendAttempts.last?.sendAttemptResult {
                    return judgement.ofAttempt(result, in: environment)
                }
            } catch let error as AppStoreServerError
                where error.isRetryable || error.code == .testNotificationNotFound
            {
                // It was not tried yet, or Apple is busy.
                if ContinuousClock.now >= end, error.code != .testNotificationNotFound { throw error }
            }
            guard ContinuousClock.now < end else { return judgement.ofSilence(wait, in: environment) }
            try await Task.sleep(for: Limit.pause)
        }
    }
}
