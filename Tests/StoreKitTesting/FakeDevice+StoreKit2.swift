import Foundation
package import StoreKit
import Synchronization

extension FakeDevice {
    package var canMakePayments: Bool { state.withLock { !$0.faults.contains(.forbidsPayments) } }

    package func products(_ ids: [String]) async throws -> [Product] {
        let (faults, items) = state.withLock { ($0.faults, $0.items) }
        guard !faults.contains(.isOffline) else { throw StoreKitError.networkError(URLError(.notConnectedToInternet)) }
        return ids.compactMap { items[$0] }.map(Self.product)
    }

    package func purchase(
        _ product: Product, _ options: Set<Product.PurchaseOption>
    ) async throws -> Product.PurchaseResult {
        let faults = state.withLock { state in
            state.log.sheets.append(options)
            return state.faults
        }
        let order = Self.order(product.id, options)
        if faults.contains(.isOffline) { throw StoreKitError.networkError(URLError(.notConnectedToInternet)) }
        if faults.contains(.refusesOffers), Self.hasOffer(options) { throw Product.PurchaseError.invalidOfferSignature }
        if faults.contains(.cancelsByError) { throw StoreKitError.userCancelled }
        if faults.contains(.isCancelled) { return .userCancelled }
        if faults.contains(.asksForApproval) {
            state.withLock { $0.waiting.append(order) }
            return .pending
        }
        if faults.contains(.givesEarlierAsSuccess),
            let earlier = sales.first(where: { $0.productID == product.id && !$0.isFinished })
        {
            return .success(result(earlier))
        }
        // What lasts is sold once: whoever owns it gets the transaction of then.
        if let owned = owned(product.id) { return .success(result(owned)) }
        let sale = sell(order)
        if faults.contains(.hidesNewest) { state.withLock { _ = $0.hidden.insert(sale.id) } }
        if faults.contains(.failsAfterPaying) { throw StoreKitError.unknown }
        return .success(result(sale))
    }

    package func sync() async throws {
        let faults = state.withLock { state in
            state.log.syncs += 1
            return state.faults
        }
        if faults.contains(.refusesPassword) { throw StoreKitError.userCancelled }
        if faults.contains(.isOffline) { throw StoreKitError.networkError(URLError(.notConnectedToInternet)) }
    }

    package func transactions(_ kind: Transaction.Transactions.Kind) -> AsyncStream<VerificationResult<Transaction>> {
        let (stream, continuation) = AsyncStream.makeStream(of: VerificationResult<Transaction>.self)
        switch kind {
        case .unfinished:
            let sales = state.withLock { state in
                defer { state.hidden = [] }
                return state.sales.filter { sale in
                    (!sale.isFinished || state.faults.contains(.showsFinished)) && !state.hidden.contains(sale.id)
                }
            }
            for sale in sales { continuation.yield(result(sale)) }
            continuation.finish()
        case .currentEntitlements:
            for sale in sales where sale.type != .consumable && sale.revokedAt == nil {
                continuation.yield(result(sale))
            }
            continuation.finish()
        case .updates: listen(continuation)
        }
        return stream
    }

    /// What is unfinished comes to the first listener of a launch, once.
    private func listen(_ continuation: AsyncStream<VerificationResult<Transaction>>.Continuation) {
        let number = nextNumber()
        let unfinished = state.withLock { state in
            defer { state.wasTold = true }
            guard !state.wasTold, !state.faults.contains(.isSilentAtLaunch) else { return [Sale]() }
            return state.sales.filter { !$0.isFinished }
        }
        change { $0.listeners[number] = continuation }
        for sale in unfinished { continuation.yield(result(sale)) }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.listeners[number] = nil }
        }
    }

    package func finish(_ transaction: Transaction) async {
        state.withLock { state in
            state.log.finished.append(transaction.id)
            guard let index = state.sales.firstIndex(where: { $0.id == transaction.id }) else { return }
            state.sales[index].isFinished = true
        }
    }

    package func purchaseIntents() -> AsyncStream<PurchaseIntent> {
        let (stream, continuation) = AsyncStream.makeStream(of: PurchaseIntent.self)
        change { $0.intents = continuation }
        return stream
    }

    static func product(_ item: Item) -> Product {
        Product(
            id: item.id, type: item.type, displayName: item.name, description: "A \(item.name)", price: item.price,
            displayPrice: "€\(item.price)", currencyCode: "EUR",
            subscription: item.type == .autoRenewable ? subscription : nil)
    }

    /// A month, with a week for nothing for who is new, and an offer for who has left.
    private static let subscription = Product.SubscriptionInfo(
        period: Product.SubscriptionPeriod(1, .month), group: "group",
        introductoryOffer: Product.SubscriptionOffer(
            id: nil, type: .introductory, period: Product.SubscriptionPeriod(1, .week), paymentMode: .freeTrial),
        winBackOffers: [
            Product.SubscriptionOffer(
                id: "welcome-back", type: .winBack, period: Product.SubscriptionPeriod(1, .month),
                paymentMode: .payAsYouGo)
        ], isEligible: true)

    private static func order(_ productID: String, _ options: Set<Product.PurchaseOption>) -> Order {
        var order = Order(productID: productID, quantity: 1)
        for option in options {
            switch option.kind {
            case .appAccountToken(let token): order.token = token
            case .quantity(let quantity): order.quantity = quantity
            default: break
            }
        }
        return order
    }

    private static func hasOffer(_ options: Set<Product.PurchaseOption>) -> Bool {
        options.contains { option in
            switch option.kind {
            case .appAccountToken, .quantity: false
            default: true
            }
        }
    }

    /// A sale as StoreKit 2 gives it; the signature is made up, and the payload is what Apple's has.
    func result(_ sale: Sale) -> VerificationResult<Transaction> {
        var payload: [String: Any] = [
            "transactionId": "\(sale.id)", "originalTransactionId": "\(sale.originalID)", "productId": sale.productID,
            "quantity": sale.quantity, "transactionReason": sale.reason, "environment": sale.environment,
            "type": sale.type.rawValue,
        ]
        payload["appAccountToken"] = sale.token?.uuidString.lowercased()
        let json = (try? JSONSerialization.data(withJSONObject: payload, options: [.sortedKeys])) ?? Data()
        let text = json.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
        let transaction = Transaction(
            id: sale.id, originalID: sale.originalID, productID: sale.productID, productType: sale.type,
            purchasedQuantity: sale.quantity, appAccountToken: sale.token, purchaseDate: Date(),
            revocationDate: sale.revokedAt, jsonRepresentation: json, jws: "e30.\(text).AA")
        let isVerified = state.withLock { !$0.faults.contains(.cannotVerify) }
        return isVerified ? .verified(transaction) : .unverified(transaction, .invalidSignature)
    }
}
