import Hummingbird

extension ServerAPI {
    /// Get All Subscription Statuses.
    func addSubscriptionStatusRoutes(to group: RouterGroup<ServerAPIContext>) {
        limited(group, .subscriptionStatuses).get("v1/subscriptions/{transactionId}") { request, context in
            let app = try context.caller()
            let id = try context.pathPart("transactionId")
            let statuses = try Self.statuses(request.uri.queryParameters.getAll("status"))
            let now = store.clock.now
            let found = try await store.read { state in
                state.subscriptionStatuses(
                    of: try state.customer(ofAny: id, app: app, environment: environment), statuses, signedDate: now)
            }
            return try statusAnswer(found, app: app, now: now)
        }
    }

    private static func statuses(_ texts: [String]) throws(APIError) -> Set<SubscriptionRecord.Status> {
        let statuses = texts.compactMap { Int64($0).flatMap(SubscriptionRecord.Status.init) }
        guard statuses.count == texts.count else { throw .invalidStatus }
        return Set(statuses)
    }

    private func statusAnswer(_ found: [SubscriptionStatus], app: AppRecord, now: Int64) throws -> Response {
        let groups = Dictionary(grouping: found, by: \.group).sorted { $0.key < $1.key }
        let data = try groups.map { group, members in
            var json = JSONText()
            json.add("subscriptionGroupIdentifier", group)
            let items = try members.map { try item($0, now: now) }
            json.add("lastTransactions", json: "[\(items.joined(separator: ","))]")
            return json.object
        }
        var json = JSONText()
        json.add("environment", environment.rawValue)
        json.add("bundleId", app.bundleId)
        json.add("appAppleId", app.appAppleId)
        json.add("data", json: "[\(data.joined(separator: ","))]")
        return APIAnswer.json(json.object)
    }

    private func item(_ status: SubscriptionStatus, now: Int64) throws -> String {
        var json = JSONText()
        json.add("originalTransactionId", status.originalTransactionId)
        json.add("status", status.status.rawValue)
        json.add("signedTransactionInfo", try signatures.signed(status.transaction, now: now))
        json.add("signedRenewalInfo", try signer.sign(status.renewalInfo))
        return json.object
    }
}

/// Where one subscription of a customer stands.
struct SubscriptionStatus: Sendable {
    let group: String
    let originalTransactionId: String
    let status: SubscriptionRecord.Status
    /// The latest.
    let transaction: TransactionRecord
    /// JSON, to be signed.
    let renewalInfo: String
}

extension StoreState {
    /// Where each subscription of a customer stands, in the order in which they began.
    ///
    /// - Parameters:
    ///   - statuses: only these; all when there are none.
    ///   - signedDate: milliseconds since 1970.
    func subscriptionStatuses(
        of customer: Customer, _ statuses: Set<SubscriptionRecord.Status>, signedDate: Int64
    ) -> [SubscriptionStatus] {
        var seen: Set<String> = []
        return holdings[customer.key, default: []].compactMap { id in
            guard let original = transactions[id]?.originalTransactionId, seen.insert(original).inserted,
                let subscription = subscriptions[original], let latest = statusTransaction(of: subscription),
                statuses.isEmpty || statuses.contains(subscription.status)
            else { return nil }
            return SubscriptionStatus(
                group: subscription.subscriptionGroupIdentifier, originalTransactionId: original,
                status: subscription.status, transaction: latest,
                renewalInfo: subscription.renewalInfo(in: self, signedDate: signedDate))
        }
    }

    /// The transaction that a status shows: of a period that was revoked one that says so, or else the period's first.
    private func statusTransaction(of subscription: SubscriptionRecord) -> TransactionRecord? {
        let ids = transactionIds(ofPurchase: subscription.transactionId)
        let revoked = ids.lazy.compactMap { transactions[$0] }.first { $0.revocationDate != nil }
        return subscription.status == .revoked
            ? revoked ?? transactions[subscription.transactionId]
            : transactions[subscription.transactionId]
    }
}
