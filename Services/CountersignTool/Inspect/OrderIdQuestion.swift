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
            return found.signedTransactions.compactMap(Self.transactionId)
        }
    }

    /// The id in a signed transaction, which is not verified: it is looked for among what was, and nothing is granted by it.
    static func transactionId(_ signed: String) -> String? {
        struct Payload: Decodable { let transactionId: String }
        let parts = signed.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var text = String(parts[1].map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        text += String(repeating: "=", count: (4 - text.count % 4) % 4)
        guard let data = Data(base64Encoded: text) else { return nil }
        return try? JSONDecoder().decode(Payload.self, from: data).transactionId
    }
}
