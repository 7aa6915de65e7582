import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// `POST /verifyReceipt` on one of Apple's two hosts: deprecated, and still what many servers ask.
///
/// Answers with HTTP 200 whatever it thinks of the receipt; its opinion is the `status` (apple-facts C10).
struct VerifyReceipt: Sendable {
    enum Limit {
        /// Bytes of a request: receipts with years of purchases have megabytes.
        static let bodyBytes = 4 * 1_048_576
    }

    private struct Body: Decodable {
        var receiptData: String?
        var password: String?
        var excludesOldTransactions: Bool?

        enum CodingKeys: String, CodingKey {
            case receiptData = "receipt-data"
            case password
            case excludesOldTransactions = "exclude-old-transactions"
        }
    }

    let store: Store
    let environment: StoreEnvironment
    let receipts: ReceiptAuthority
    let demands: VerifyReceiptDemands

    func addRoutes(to router: Router<BasicRequestContext>) {
        router.post("verifyReceipt") { request, _ in
            try await answer(try await ControlBody.bytes(of: request, maximum: Limit.bodyBytes))
        }
        for method in [HTTPRequest.Method.get, .put, .patch, .delete, .head, .options] {
            router.on("verifyReceipt", method: method) { _, _ in refuse(VerifyReceiptStatus.notPost) }
        }
    }

    private func answer(_ body: Data) async throws -> Response {
        let demand = demands.next(in: environment)
        // 21006 comes with everything that 0 comes with.
        if let demand, demand.status != VerifyReceiptStatus.subscriptionExpired {
            return refuse(demand.status, isRetryable: demand.isRetryable)
        }
        guard let asked = try? JSONDecoder().decode(Body.self, from: body), let receiptData = asked.receiptData else {
            return refuse(VerifyReceiptStatus.malformed)
        }
        switch receipts.reader.read(base64: receiptData) {
        case .malformed: return refuse(VerifyReceiptStatus.malformed)
        case .notAuthentic: return refuse(VerifyReceiptStatus.notAuthentic)
        case .contents(let contents):
            return try await answer(contents, asked, status: demand?.status ?? VerifyReceiptStatus.valid)
        }
    }

    private func answer(_ receipt: ReceiptContents, _ asked: Body, status: Int64) async throws -> Response {
        guard receipt.environment == environment else {
            return refuse(
                environment == .production
                    ? VerifyReceiptStatus.sandboxReceiptInProduction : VerifyReceiptStatus.productionReceiptInSandbox)
        }
        let (holdings, known) = await store.read { state in
            var known: [String: TransactionRecord] = [:]
            for purchase in receipt.inAppPurchases {
                known[purchase.transactionId] = state.transactions[purchase.transactionId]
            }
            let holdings = state.receiptHoldings(
                bundleId: receipt.bundleId, accountId: receipt.accountId, environment: receipt.environment,
                deviceId: state.devicesByVendor[receipt.vendorIdentifier])
            return (holdings, known)
        }
        guard !holdings.account.isDeleted else {
            return refuse(VerifyReceiptStatus.accountNotFound, isRetryable: false)
        }
        let now = store.clock.now
        var answer = VerifyReceiptAnswer(status: status, requestDate: now, receipt: receipt, known: known)
        if receipt.inAppPurchases.contains(where: { $0.kind == .autoRenewableSubscription }) {
            if let secret = holdings.app?.sharedSecret, asked.password != secret {
                return refuse(VerifyReceiptStatus.wrongSharedSecret)
            }
            let fresh = AppReceipt.contents(of: holdings, vendorIdentifier: receipt.vendorIdentifier, now: now)
            answer.latest = VerifyReceiptAnswer.Latest(
                holdings: holdings, receipt: try receipts.receipt(fresh),
                excludesOldTransactions: asked.excludesOldTransactions ?? false)
        }
        return APIAnswer.json(answer.encoded())
    }

    /// An answer without a receipt.
    ///
    /// - Parameter isRetryable: Apple documents `is-retryable` and sends `is_retryable`: it gets both.
    private func refuse(_ status: Int64, isRetryable: Bool? = nil) -> Response {
        var json = JSONText()
        if VerifyReceiptStatus.namesEnvironment(status) { json.add("environment", environment.rawValue) }
        json.add("status", status)
        json.add("is_retryable", isRetryable)
        json.add("is-retryable", isRetryable)
        return APIAnswer.json(json.object)
    }
}
