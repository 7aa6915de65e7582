import AppStoreServerAPI
import AsyncHTTPClient
import Foundation
import NIOCore
import ServiceRuntime

/// Asks Apple which transactions the order id of an e-mail has.
///
/// Source: ADP, Look Up Order ID. It is of production only: the sandbox sends no e-mail.
struct OrderIdQuestion {
    private let client: AppStoreServerClient
    private let http: HTTPClient
    private let app: String

    /// - Throws: `ToolFailure` where the app, or its key, is missing.
    init(app: String, folder: String?, settings: ToolSettings) throws {
        let places = try SettingsPlaces(folder: folder, settings: settings)
        let entry = try AppleCommand.app(app, in: places.apps)
        guard let api = entry.serverAPI,
            let key = try? SigningKey(issuerId: api.issuerId, keyId: api.keyId, pem: api.privateKey.value)
        else { throw ToolFailure("\(app) has no key of the App Store Server API in \(places.apps)") }
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = AppleCheck.Limit.connect
        http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        client = AppStoreServerClient(
            http: http, key: key, bundleId: app, hosts: try AppleCommand.hosts(settings.reader))
        self.app = app
    }

    /// The ids of its transactions.
    ///
    /// - Throws: `ToolFailure` where Apple does not answer, or the order is of another app.
    func transactions(of orderId: String) async throws -> [String] {
        let answer: Result<OrderLookupResponse, any Error>
        do {
            answer = .success(try await client.lookUpOrder(orderId, in: .production))
        } catch {
            answer = .failure(error)
        }
        try? await http.shutdown()
        switch answer {
        case .failure(let error):
            throw ToolFailure("Apple does not say what \(orderId) bought: \(error); `countersign apple check \(app)`")
        case .success(let found) where found.status != .valid || found.signedTransactions.isEmpty:
            throw ToolFailure("Apple knows no order \(orderId) of \(app)")
        case .success(let found):
            // Not verified: it is looked for among what was, and nothing is granted by it.
            return found.signedTransactions.compactMap(ImportRecord.transactionId)
        }
    }
}
