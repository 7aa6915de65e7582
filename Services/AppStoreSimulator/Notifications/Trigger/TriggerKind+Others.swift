import Foundation
import HTTPTypes

// MARK: Purchases, refunds, extensions, families, tokens

extension TriggerKind {
    static let refunds = [
        TriggerKind(.refund, nil, "An account buys a consumable, and its refund is granted.", needs: .consumable) {
            let id = try TriggerPlay.consumable(&$0, $1, $2).transactionId
            try $0.refund(id, percentage: nil, reason: 0, now: $2)
            return $2
        },
        TriggerKind(
            .refundDeclined, nil, "A refund is asked for a consumable, and declined.", needs: .consumable
        ) {
            let id = try TriggerPlay.consumable(&$0, $1, $2).transactionId
            try $0.requestRefund(id, reason: usualReason, now: $2)
            try $0.declineRefund(id, now: $2)
            return $2
        },
        TriggerKind(
            .refundReversed, nil, "A consumable is refunded, and the refund taken back.", needs: .consumable
        ) {
            let id = try TriggerPlay.consumable(&$0, $1, $2).transactionId
            try $0.refund(id, percentage: nil, reason: 0, now: $2)
            try $0.reverseRefund(id, now: $2)
            return $2
        },
        TriggerKind(.consumptionRequest, nil, "A refund is asked for a consumable.", needs: .consumable) {
            let id = try TriggerPlay.consumable(&$0, $1, $2).transactionId
            try $0.requestRefund(id, reason: usualReason, now: $2)
            return $2
        },
    ]

    /// Apple's `consumptionRequestReason` of the refunds that triggers ask for.
    private static let usualReason = "UNINTENDED_PURCHASE"

    static let extensions = [
        TriggerKind(.renewalExtended, nil, "A subscription's renewal date is extended by 30 days.") {
            try extend(&$0, $1, $2, requestIdentifier: UUID().uuidString.lowercased())
            return $2
        },
        TriggerKind(.renewalExtension, .summary, "An extension for all subscribers of a plan is complete.") {
            state, scene, start in
            let request = UUID().uuidString.lowercased()
            let productId = try extend(&state, scene, start, requestIdentifier: request)
            let record = MassExtensionRecord(
                requestIdentifier: request, bundleId: scene.bundleId, environment: scene.environment,
                productId: productId, extendByDays: extensionDays, extendReasonCode: 1, storefrontCountryCodes: [],
                requestedDate: start, completeDate: start, succeededCount: 1, failedCount: 0)
            state.put(record)
            state.notifySummary(record, now: start)
            return start
        },
        TriggerKind(.renewalExtension, .failure, "An extension for all subscribers fails for one of them.") {
            let id = try TriggerPlay.subscription(&$0, $1, $2)
            $0.notify(
                .renewalExtension, .failure, transactionId: $0.subscriptions[id]?.transactionId ?? id, now: $2)
            return $2
        },
    ]

    /// By how many days triggers extend.
    private static let extensionDays = 30

    /// - Returns: the product that was extended.
    @discardableResult
    private static func extend(
        _ state: inout StoreState, _ scene: TriggerScene, _ start: Int64, requestIdentifier: String
    ) throws -> String {
        let id = try TriggerPlay.subscription(&state, scene, start)
        do {
            _ = try state.extendRenewal(
                id, days: extensionDays, reason: 1, requestIdentifier: requestIdentifier, now: start)
        } catch {
            throw Problem(.conflict, "the subscription \(id) cannot be extended: \(error)")
        }
        return state.subscriptions[id]?.productId ?? ""
    }

    static let others = [
        TriggerKind(.oneTimeCharge, nil, "An account buys a consumable.", needs: .consumable) {
            _ = try TriggerPlay.consumable(&$0, $1, $2)
            return $2
        },
        TriggerKind(.revoke, nil, "A family member loses what another bought.", needs: .shared) {
            try revoke(&$0, $1, $2)
            return $2
        },
        TriggerKind(
            .rescindConsent, nil, "A guardian withdraws the consent to a child's use of the app.", needs: .nothing
        ) {
            if $0.accounts[$1.accountId] == nil { $0.put($0.account($1.accountId)) }
            _ = $0.download(
                bundleId: $1.bundleId, accountId: $1.accountId, environment: $1.environment, now: $2)
            try $0.rescindConsent(
                accountId: $1.accountId, bundleId: $1.bundleId, environment: $1.environment, now: $2)
            return $2
        },
        TriggerKind(
            .externalPurchaseToken, .created, "A customer is about to buy outside the store.", needs: .nothing
        ) {
            _ = try $0.createExternalPurchase(order($1, tokenType: "SERVICES"), now: $2)
            return $2
        },
        TriggerKind(
            .externalPurchaseToken, .activeTokenReminder, "A custom link token is active for a month.",
            needs: .nothing
        ) {
            try remind(&$0, $1, $2, tokenType: "SERVICES")
        },
        TriggerKind(
            .externalPurchaseToken, .unreported, "A token is not reported for ten days.", needs: .nothing
        ) {
            try remind(&$0, $1, $2, tokenType: nil)
        },
        TriggerKind(.test, nil, "A test notification is requested.", needs: .nothing) {
            guard let app = $0.apps[$1.bundleId] else { throw TriggerPlay.missing("app", $1) }
            $0.notifyTest(app, environment: $1.environment, now: $2)
            return $2
        },
    ]

    private static func revoke(_ state: inout StoreState, _ scene: TriggerScene, _ start: Int64) throws {
        guard let product = state.triggerShared(scene.bundleId) else {
            throw TriggerPlay.missing("shared product", scene)
        }
        var child = state.account(scene.accountId)
        let family = child.family ?? "family of \(child.id)"
        child.family = family
        state.put(child)
        var buyer = state.account("\(child.id)-buyer-\(UUID().uuidString.prefix(8).lowercased())")
        buyer.family = family
        state.put(buyer)
        _ = try TriggerPlay.bought(try state.buy(scene.purchase(product, accountId: buyer.id), now: start), scene)
        try state.leaveFamily(child.id, now: start)
    }

    private static func order(_ scene: TriggerScene, tokenType: String?) -> ExternalPurchaseOrder {
        ExternalPurchaseOrder(bundleId: scene.bundleId, environment: scene.environment, tokenType: tokenType)
    }

    private static func remind(
        _ state: inout StoreState, _ scene: TriggerScene, _ start: Int64, tokenType: String?
    ) throws -> Int64 {
        let record = try state.createExternalPurchase(order(scene, tokenType: tokenType), now: start)
        guard let due = record.nextNoticeDate else { return start }
        state.externalPurchaseFallsDue(record.id, now: due)
        return due
    }
}

// MARK: Advanced Commerce

extension TriggerKind {
    static let advancedCommerce = [
        TriggerKind(.metadataUpdate, nil, "The name and the description of an Advanced Commerce item change.") {
            try sellAdvancedCommerce(&$0, $1, $2, .metadataUpdate, AdvancedCommerceSample(displayName: "Gold Pass 2"))
        },
        TriggerKind(.priceChange, nil, "The price of an Advanced Commerce item changes with the next renewal.") {
            try sellAdvancedCommerce(&$0, $1, $2, .priceChange, AdvancedCommerceSample(newPrice: 5_990))
        },
        TriggerKind(.migration, nil, "A subscription moves to the Advanced Commerce API.") { state, scene, start in
            let id = try TriggerPlay.subscription(&state, scene, start)
            guard var old = state.subscriptions[id], var transaction = state.transactions[old.transactionId] else {
                throw TriggerPlay.missing("subscription", scene)
            }
            let sample = AdvancedCommerceSample()
            var record = old
            // The lineage begins anew: Apple names the old one in previousOriginalTransactionId.
            transaction.transactionId = String(state.nextNumber(.transactionId))
            transaction.originalTransactionId = transaction.transactionId
            transaction.previousOriginalTransactionId = id
            transaction.orderId = StoreState.orderId(of: transaction.transactionId)
            transaction.advancedCommerceInfo = sample.transactionInfo
            state.put(transaction, now: start)
            record.originalTransactionId = transaction.transactionId
            record.transactionId = transaction.transactionId
            record.advancedCommerceInfo = sample.renewalInfo
            record.familyCopies = []
            state.put(record)
            old.status = .expired
            old.autoRenews = false
            old.dueDate = nil
            state.put(old)
            state.notify(.migration, transactionId: transaction.transactionId, now: start)
            return start
        },
    ]

    /// A subscription of the Advanced Commerce API, of which something is told.
    private static func sellAdvancedCommerce(
        _ state: inout StoreState, _ scene: TriggerScene, _ start: Int64, _ type: NotificationType,
        _ change: AdvancedCommerceSample
    ) throws -> Int64 {
        let id = try TriggerPlay.subscription(&state, scene, start) {
            $0.advancedCommerceInfo = AdvancedCommerceSample().transactionInfo
        }
        guard var record = state.subscriptions[id] else { throw TriggerPlay.missing("subscription", scene) }
        if var transaction = state.transactions[record.transactionId], transaction.advancedCommerceInfo == nil {
            transaction.advancedCommerceInfo = AdvancedCommerceSample().transactionInfo
            state.put(transaction, now: start)
        }
        record.advancedCommerceInfo = change.renewalInfo
        state.put(record)
        state.notify(type, transactionId: record.transactionId, now: start)
        return start
    }
}

/// What Advanced Commerce says of a transaction and of its renewal; the field names are those of Apple's libraries.
private struct AdvancedCommerceSample {
    var displayName = "Gold Pass"
    /// Milliunits.
    var price: Int64 = 4_990
    /// From the next renewal on.
    var newPrice: Int64?

    private static let requestReferenceId = "7d1b0b0e-9f6b-4d3d-8f0b-5b8f0c1f0a11"
    private static let sku = "com.example.game.gold"
    /// Apple's code for software, from the list of tax codes.
    private static let taxCode = "C003-00-2"

    private var descriptors: String {
        var json = JSONText()
        json.add("description", "Everything in the game")
        json.add("displayName", displayName)
        return json.object
    }

    private func item(renews: Bool) -> String {
        var json = JSONText()
        json.add("SKU", Self.sku)
        json.add("description", "Everything in the game")
        json.add("displayName", displayName)
        json.add("price", renews ? newPrice ?? price : price)
        if renews, let newPrice {
            var increase = JSONText()
            increase.add("price", newPrice)
            increase.add("status", "SCHEDULED")
            json.add("priceIncreaseInfo", json: increase.object)
        }
        return json.object
    }

    var transactionInfo: String {
        var json = JSONText()
        json.add("descriptors", json: descriptors)
        json.add("estimatedTax", 0)
        json.add("items", json: "[\(item(renews: false))]")
        json.add("period", "P1M")
        json.add("requestReferenceId", Self.requestReferenceId)
        json.add("taxCode", Self.taxCode)
        json.add("taxExclusivePrice", price)
        json.add("taxRate", "0")
        return json.object
    }

    var renewalInfo: String {
        var json = JSONText()
        json.add("consistencyToken", "token-1")
        json.add("descriptors", json: descriptors)
        json.add("items", json: "[\(item(renews: true))]")
        json.add("period", "P1M")
        json.add("requestReferenceId", Self.requestReferenceId)
        json.add("taxCode", Self.taxCode)
        return json.object
    }
}
