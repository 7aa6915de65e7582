import Foundation
import HTTPTypes
import Hummingbird

/// A transaction as the store sees it, and the app's word that it delivered.
struct TransactionRoutes: Sendable {
    let store: Store
    let signer: PayloadSigner

    func addRoutes(to group: RouterGroup<BasicRequestContext>) {
        group.get("transactions/{id}") { _, context in
            try await answer(try context.parameters.require("id"))
        }
        group.post("transactions/{id}/finish") { _, context in
            let id = try context.parameters.require("id")
            try await store.change { state, now in try state.finish(id, now: now) }
            return try await answer(id)
        }
        SignRoute(store: store, signer: signer).addRoute(to: group)
    }

    private func answer(_ id: String) async throws -> Response {
        let (found, ids) = await store.read { ($0.transactions[id], $0.transactionIds(ofPurchase: id)) }
        guard let transaction = found else { throw Problem(.notFound, "no transaction \(id)") }
        let payload = transaction.payload(signedDate: store.clock.now)
        var json = JSONText()
        json.add("transaction", json: payload)
        json.add("signedTransaction", try signer.sign(payload))
        json.add("isFinished", transaction.isFinished)
        json.add("orderId", transaction.orderId)
        json.add("account", transaction.accountId)
        json.add("device", transaction.deviceId)
        json.add("purchaseTransactionIds", ids)
        json.add("sharedFromTransactionId", transaction.sharedFromTransactionId)
        return ControlAnswer.json(json.object)
    }
}
