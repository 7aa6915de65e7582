import Hummingbird

extension ServerAPI {
    /// Extend a Subscription Renewal Date.
    func addExtensionRoutes(to group: RouterGroup<ServerAPIContext>) {
        limited(group, .extendRenewalDate).put("v1/subscriptions/extend/{transactionId}") { request, context in
            let app = try context.caller()
            let id = try context.pathPart("transactionId")
            guard StoreState.isTransactionId(id) else { throw APIError.invalidOriginalTransactionId }
            let fields = try ExtensionFields(try await APIBody.object(request))
            let (webOrderLineItemId, effectiveDate) = try await store.change { state, now in
                let date = try state.extend(id, fields, app: app, environment: environment, now: now)
                let latest = state.subscriptions[id].flatMap { state.transactions[$0.transactionId] }
                return (latest?.webOrderLineItemId, date)
            }
            var json = JSONText()
            json.add("originalTransactionId", id)
            json.add("webOrderLineItemId", webOrderLineItemId)
            json.add("success", true)
            json.add("effectiveDate", effectiveDate)
            return APIAnswer.json(json.object)
        }
    }
}

extension APIError {
    /// Apple's code for why a renewal date was not extended.
    init(_ refusal: RenewalExtensionRefusal) {
        self =
            switch refusal {
            case .unknown: .originalTransactionIdNotFound
            case .days: .invalidExtendByDays
            case .ineligible: .subscriptionExtensionIneligible
            case .maximum: .subscriptionMaxExtension
            case .familyShared: .familySharedSubscriptionExtensionIneligible
            }
    }
}

extension StoreState {
    /// Extends one subscription.
    ///
    /// - Returns: its new renewal date, milliseconds since 1970.
    fileprivate mutating func extend(
        _ id: String, _ fields: ExtensionFields, app: AppRecord, environment: StoreEnvironment, now: Int64
    ) throws(APIError) -> Int64 {
        try checkExtensible(id, app: app, environment: environment)
        do {
            return try extendRenewal(
                id, days: fields.days, reason: fields.reason, requestIdentifier: fields.requestIdentifier, now: now)
        } catch {
            throw APIError(error)
        }
    }

    /// Whether an id is a subscription of the app that calls.
    ///
    /// - Throws: 4000048, 4000008 for a renewal's own id, 4040005.
    private func checkExtensible(
        _ id: String, app: AppRecord, environment: StoreEnvironment
    ) throws(APIError) {
        if let row = subscriptions[id], row.bundleId == app.bundleId, row.environment == environment { return }
        if isAppTransaction(id, app: app, environment: environment) { throw .appTransactionIdNotSupported }
        guard let row = transactions[id], row.bundleId == app.bundleId, row.environment == environment else {
            throw .originalTransactionIdNotFound
        }
        if row.originalTransactionId != id { throw .invalidOriginalTransactionId }
        // A purchase that does not renew has nothing to extend.
        throw .subscriptionExtensionIneligible
    }
}
