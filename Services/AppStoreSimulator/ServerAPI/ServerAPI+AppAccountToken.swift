import Foundation
import Hummingbird

extension ServerAPI {
    /// Set App Account Token (apple-facts C12).
    func addAppAccountTokenRoutes(to group: RouterGroup<ServerAPIContext>) {
        limited(group, .setAppAccountToken).put("v1/transactions/{transactionId}/appAccountToken") { request, context in
            let app = try context.caller()
            let id = try context.pathPart("transactionId")
            guard let text = try await APIBody.object(request)["appAccountToken"]?.text,
                let token = UUID(uuidString: text)
            else { throw APIError.invalidAppAccountTokenUUID }
            try await store.change { state, now in
                let transaction = try state.originalTransaction(id, app: app, environment: environment)
                state.setAppAccountToken(token.uuidString.lowercased(), of: transaction, now: now)
            }
            return APIAnswer.empty()
        }
    }
}

extension StoreState {
    /// A transaction that is its own original and was not shared.
    ///
    /// - Throws: 4000006, 4000048, 4040005, 4000187, 4000185.
    fileprivate func originalTransaction(
        _ id: String, app: AppRecord, environment: StoreEnvironment
    ) throws(APIError) -> TransactionRecord {
        let found: TransactionRecord
        do {
            found = try transaction(id, app: app, environment: environment)
        } catch .transactionIdNotFound {
            throw .originalTransactionIdNotFound
        }
        guard found.originalTransactionId == id else { throw .transactionIdNotOriginalTransactionId }
        guard !found.isFamilyShared else { throw .familyTransactionNotSupported }
        return found
    }

    /// The purchase has it at once, a subscription's renewals from the next on.
    fileprivate mutating func setAppAccountToken(_ token: String, of transaction: TransactionRecord, now: Int64) {
        for id in transactionIds(ofPurchase: transaction.id) {
            guard var row = transactions[id] else { continue }
            row.appAccountToken = token
            put(row, now: now)
        }
        if var subscription = subscriptions[transaction.id] {
            subscription.appAccountToken = token
            put(subscription)
        }
    }
}
