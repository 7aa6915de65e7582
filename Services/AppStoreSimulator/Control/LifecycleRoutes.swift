import Foundation
import HTTPTypes
import Hummingbird

/// What happens to purchases after they were made: refunds, renewals, prices, families.
///
/// Every call that changes something answers what it caused (``LifecycleMark``).
struct LifecycleRoutes: Sendable {
    let store: Store
    let signer: PayloadSigner

    func addRoutes(to group: RouterGroup<BasicRequestContext>) {
        addRefunds(to: group)
        addSubscriptions(to: group)
        addProducts(to: group)
        addAccounts(to: group)
    }

    private func addRefunds(to group: RouterGroup<BasicRequestContext>) {
        post("transactions/{id}/refund-request", group, RefundRequestBody.self) { state, id, body, now in
            try state.requestRefund(id, reason: body.reason ?? "UNINTENDED_PURCHASE", now: now)
        }
        post("transactions/{id}/refund", group, RefundBody.self) { state, id, body, now in
            try state.refund(
                id, percentage: body.percentage, reason: body.reason ?? 0, scope: try body.revokes.scope(), now: now)
        }
        post("transactions/{id}/decline-refund", group, EmptyBody.self) { state, id, _, now in
            try state.declineRefund(id, now: now)
        }
        post("transactions/{id}/reverse-refund", group, EmptyBody.self) { state, id, _, now in
            try state.reverseRefund(id, now: now)
        }
        post("transactions/{id}/stop-sharing", group, RevocationBody.self) { state, id, body, now in
            try state.stopSharing(id, scope: try body.revokes.scope(), now: now)
        }
    }

    private func addSubscriptions(to group: RouterGroup<BasicRequestContext>) {
        group.get("subscriptions/{id}") { _, context in try await show(try context.parameters.require("id")) }
        post("subscriptions/{id}/auto-renew", group, AutoRenewBody.self) { state, id, body, now in
            try state.setAutoRenew(id, body.on, now: now)
        }
        post("subscriptions/{id}/plan", group, PlanBody.self) { state, id, body, now in
            try state.changePlan(
                id, to: body.productId, offerKind: body.offer?.kind.kind, offerIdentifier: body.offer?.identifier,
                now: now)
        }
        post("subscriptions/{id}/payment", group, PaymentBody.self) { state, id, body, now in
            try state.setPaymentFails(id, body.fails, now: now)
        }
        post("subscriptions/{id}/price-consent", group, PriceConsentBody.self) { state, id, body, now in
            try state.consentToPrice(id, body.agrees, now: now)
        }
        group.post("subscriptions/{id}/move") { request, context in
            let id = try context.parameters.require("id")
            let body = try await ControlBody.decode(MoveBody.self, from: request)
            return try await act { state, now in try state.move(id, to: body.to, now: now) }
        }
        post("subscriptions/{id}/extend", group, ExtendBody.self) { state, id, body, now in
            do throws(RenewalExtensionRefusal) {
                try state.extendRenewal(
                    id, days: body.days, reason: body.reason ?? 0,
                    requestIdentifier: body.requestIdentifier ?? "control", now: now)
            } catch {
                throw error.problem(id)
            }
        }
    }

    /// A subscription, what Apple would sign about it, and its latest transaction.
    private func show(_ id: String) async throws -> Response {
        let now = store.clock.now
        let found = await store.read { state -> (JSONText, String, String)? in
            guard let record = state.subscriptions[id], let transaction = state.transactions[record.transactionId]
            else { return nil }
            return (
                record.controlDescription(in: state), record.renewalInfo(in: state, signedDate: now),
                transaction.payload(signedDate: now)
            )
        }
        guard let (description, renewalInfo, transaction) = found else {
            throw Problem(.notFound, "no subscription \(id)")
        }
        var json = description
        json.add("renewalInfo", json: renewalInfo)
        json.add("signedRenewalInfo", try signer.sign(renewalInfo))
        json.add("transaction", json: transaction)
        json.add("signedTransaction", try signer.sign(transaction))
        return ControlAnswer.json(json.object)
    }

    private func addProducts(to group: RouterGroup<BasicRequestContext>) {
        group.post("apps/{bundleId}/products/{productId}/price-increase") { request, context in
            let bundleId = try context.parameters.require("bundleId")
            let productId = try context.parameters.require("productId")
            let body = try await ControlBody.decode(PriceIncreaseBody.self, from: request)
            try FieldCheck.price(body.price)
            return try await act { state, now in
                try state.raisePrice(
                    bundleId: bundleId, productId: productId, to: body.price, needsConsent: body.needsConsent,
                    effectiveDate: body.effectiveDate?.milliseconds, now: now)
                return nil
            }
        }
        group.post("apps/{bundleId}/products/{productId}/stop-selling") { _, context in
            let bundleId = try context.parameters.require("bundleId")
            let productId = try context.parameters.require("productId")
            return try await act { state, now in
                try state.stopSelling(bundleId: bundleId, productId: productId, now: now)
                return nil
            }
        }
    }

    private func addAccounts(to group: RouterGroup<BasicRequestContext>) {
        post("accounts/{id}/leave-family", group, RevocationBody.self) { state, id, body, now in
            try state.leaveFamily(id, scope: try body.revokes.scope(), now: now)
        }
        post("accounts/{id}/rescind-consent", group, RescindConsentBody.self) { state, id, body, now in
            let environment = try FieldCheck.environment(body.environment)
            try state.rescindConsent(accountId: id, bundleId: body.bundleId, environment: environment, now: now)
        }
    }

    /// A call about a subscription, a transaction or an account.
    private func post<Body: Decodable & Sendable>(
        _ path: RouterPath, _ group: RouterGroup<BasicRequestContext>, _ type: Body.Type,
        _ body: @escaping @Sendable (inout StoreState, String, Body, Int64) throws -> Void
    ) {
        group.post(path) { request, context in
            let id = try context.parameters.require("id")
            let fields = try await ControlBody.decode(Body.self, from: request)
            return try await act { state, now in
                try body(&state, id, fields, now)
                return state.subscriptions[id] == nil ? state.transactions[id]?.originalTransactionId : id
            }
        }
    }

    /// Changes the store and answers what that caused; `body` says which subscription it was about.
    private func act(_ body: @escaping @Sendable (inout StoreState, Int64) throws -> String?) async throws -> Response {
        let text = try await store.change { state, now in
            let mark = LifecycleMark(state)
            let id = try body(&state, now)
            return mark.answer(in: state, subscription: id.flatMap { state.subscriptions[$0] }).object
        }
        return ControlAnswer.json(text)
    }
}

extension RenewalExtensionRefusal {
    /// The refusal in the control API's words.
    fileprivate func problem(_ id: String) -> Problem {
        switch self {
        case .unknown: Problem(.notFound, "no subscription \(id)")
        case .days: Problem(.badRequest, "days: 1 to 90")
        case .ineligible: Problem(.conflict, "the subscription \(id) is not in a paid period that runs")
        case .maximum: Problem(.conflict, "the subscription \(id) was extended twice within 365 days")
        case .familyShared: Problem(.conflict, "\(id) is a family member's share: only its buyer's can be extended")
        }
    }
}

private struct EmptyBody: Decodable, Sendable {}

private struct RefundRequestBody: Decodable, Sendable { var reason: String? }

private struct RefundBody: Decodable, Sendable {
    /// Thousandths of a per cent.
    var percentage: Int64?
    var reason: Int64?
    var revokes: String?
}

private struct RevocationBody: Decodable, Sendable { var revokes: String? }

private struct AutoRenewBody: Decodable, Sendable { var on: Bool }

private struct PlanBody: Decodable, Sendable {
    struct OfferBody: Decodable, Sendable {
        var kind: OfferKindField
        var identifier: String?
    }

    var productId: String
    var offer: OfferBody?
}

private struct PaymentBody: Decodable, Sendable { var fails: Bool }

private struct PriceConsentBody: Decodable, Sendable { var agrees: Bool }

private struct ExtendBody: Decodable, Sendable {
    var days: Int
    var reason: Int?
    var requestIdentifier: String?
}

private struct PriceIncreaseBody: Decodable, Sendable {
    var price: Int64
    var needsConsent: Bool
    var effectiveDate: InstantField?
}

private struct RescindConsentBody: Decodable, Sendable {
    var bundleId: String
    var environment: String?
}

extension String? {
    /// What `revokes` says is taken back.
    fileprivate func scope() throws(Problem) -> RevocationScope {
        try FieldCheck.choice(self, "revokes", usual: .namedTransaction)
    }
}
