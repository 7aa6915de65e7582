import Foundation
import HTTPTypes
import Hummingbird

/// Selling: `POST sales`, and the guardian's word on what waits for it.
struct SaleRoutes: Sendable {
    let store: Store
    let signer: PayloadSigner

    func addRoutes(to group: RouterGroup<BasicRequestContext>) {
        group.post("sales") { request, _ in
            try await sell(try await ControlBody.decode(SaleRequest.self, from: request))
        }
        group.post("deferred/{id}/approve") { _, context in
            let id = try context.parameters.require("id")
            return try await answer([try await store.change { state, now in try state.approve(id, now: now) }])
        }
        group.post("deferred/{id}/decline") { _, context in
            let id = try context.parameters.require("id")
            try await store.change { state, _ in try state.decline(id) }
            return ControlAnswer.json("{\"outcome\":\"declined\"}")
        }
    }

    @inline(never)
    private func sell(_ request: SaleRequest) async throws -> Response {
        let purchase = try request.purchase()
        let realNow = store.clock.realNow
        let outcomes = try await store.change { state, now in
            let product = try request.prepareProduct(in: &state)
            let admission = try request.offer?.signed?.check(
                purchase, of: state.apps[purchase.bundleId], now: realNow)
            if let admission {
                try FieldCheck.require(request.count ?? 1 == 1, "count: 1 with offer.signed, which is for one purchase")
                try state.refuseRepetition(of: admission, by: purchase)
            }
            try FieldCheck.require(
                purchase.expiresDate == nil || product.type == .autoRenewableSubscription,
                "expiresDate: for an Auto-Renewable Subscription")
            let outcomes = try (0..<(request.count ?? 1)).map { _ in try state.buy(purchase, now: now) }
            if let admission { state.use(admission.nonce, now: realNow) }
            return outcomes
        }
        return try await answer(outcomes)
    }

    /// The transactions signed, and what came of the last.
    private func answer(_ outcomes: [PurchaseOutcome]) async throws -> Response {
        let signed = try await TransactionList(signer: signer)
            .json(outcomes.compactMap(\.transaction), signedDate: store.clock.now)
        var json = JSONText()
        json.add("outcome", outcomes.last?.name)
        json.add("transactions", json: signed)
        if case .deferred(let deferred) = outcomes.last { json.add("deferredId", deferred.id) }
        if case .changesAtRenewal(let subscription) = outcomes.last {
            json.add("originalTransactionId", subscription.originalTransactionId)
        }
        return ControlAnswer.json(json.object)
    }
}

extension PurchaseOutcome {
    /// Its name in answers.
    var name: String {
        switch self {
        case .bought: "bought"
        case .alreadyOwned: "alreadyOwned"
        case .changesAtRenewal: "changesAtRenewal"
        case .deferred: "deferred"
        }
    }

    /// The buyer's transaction, when there is one.
    var transaction: TransactionRecord? {
        switch self {
        case .bought(let transaction), .alreadyOwned(let transaction): transaction
        case .changesAtRenewal, .deferred: nil
        }
    }
}
