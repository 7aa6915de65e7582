package import Foundation
package import StoreKit
import Synchronization

extension FakeDevice {
    package var paymentQueue: SKPaymentQueue { SKPaymentQueue(device: self) }

    package var paymentTransactions: [SKPaymentTransaction] {
        state.withLock { state -> Unchecked<[SKPaymentTransaction]> in
            guard !state.observers.isEmpty else { return Unchecked(value: []) }
            return Unchecked(value: state.payments.sorted { $0.key < $1.key }.map(\.value.value))
        }.value
    }

    package func add(_ observer: any SKPaymentTransactionObserver) {
        let observer = Unchecked(value: observer)
        let unfinished = state.withLock { state in
            state.observers.append(observer)
            return state.sales.filter { !$0.isFinished }
        }
        enqueue(unfinished)
        guard !state.withLock({ $0.faults.contains(.isSilentAtLaunch) }) else { return }
        tellObservers(unfinished)
    }

    package func remove(_ observer: any SKPaymentTransactionObserver) {
        let observer = Unchecked(value: observer)
        state.withLock { state in state.observers.removeAll { $0.value === observer.value } }
    }

    package func add(_ payment: SKPayment) {
        let (payment, faults) = (Unchecked(value: payment), state.withLock(\.faults))
        defer { change { $0.paymentsCount += 1 } }
        if let discount = payment.value.paymentDiscount {
            let parts = [
                discount.identifier, discount.keyIdentifier, discount.nonce.uuidString.lowercased(),
                discount.signature, "\(discount.timestamp)",
            ]
            state.withLock { $0.log.discounts.append(parts) }
        }
        state.withLock { $0.log.orderedUsernames += [payment.value.applicationUsername].compactMap { $0 } }
        tell([SKPaymentTransaction(payment: payment.value, state: .purchasing)])
        let order = Order(
            productID: payment.value.productIdentifier, quantity: payment.value.quantity,
            token: payment.value.applicationUsername.flatMap(UUID.init(uuidString:)),
            username: payment.value.applicationUsername)
        if let error = Self.error(of: faults, payment.value) {
            tell([SKPaymentTransaction(payment: payment.value, state: .failed, error: error)])
        } else if faults.contains(.asksForApproval) {
            state.withLock { $0.waiting.append(order) }
            tell([SKPaymentTransaction(payment: payment.value, state: .deferred)])
        } else if faults.contains(.givesEarlierAsSuccess),
            let earlier = sales.first(where: { $0.productID == order.productID && !$0.isFinished })
        {
            tellObservers([earlier])
        } else if let owned = owned(order.productID) {
            sellAgain(owned, order, payment.value)
        } else {
            tellObservers([sell(order)])
        }
    }

    /// A regular transaction for which nobody is charged; who is subscribed is told so by the App Store, and the payment fails.
    private func sellAgain(_ owned: Sale, _ order: Order, _ payment: SKPayment) {
        guard owned.type == .nonConsumable else {
            return tell([SKPaymentTransaction(payment: payment, state: .failed, error: SKError(.paymentCancelled))])
        }
        var copy = sell(order)
        (copy.originalID, copy.reason) = (owned.originalID, "AGAIN")
        put(copy)
        tellObservers([copy])
    }

    private static func error(of faults: DeviceFaults, _ payment: SKPayment) -> (any Error)? {
        if faults.contains(.isOffline) || faults.contains(.failsAfterPaying) { return SKError(.unknown) }
        if faults.contains(.isCancelled) { return SKError(.paymentCancelled) }
        if faults.contains(.cancelsByError) { return SKError(.overlayCancelled) }
        if faults.contains(.forbidsPayments) { return SKError(.paymentNotAllowed) }
        if faults.contains(.refusesOffers), payment.paymentDiscount != nil { return SKError(.invalidSignature) }
        return nil
    }

    package func finish(_ transaction: SKPaymentTransaction) {
        let transaction = Unchecked(value: transaction)
        state.withLock { state in
            guard let id = transaction.value.transactionIdentifier.flatMap(UInt64.init) else {
                state.log.finishedFailures += 1
                return
            }
            state.log.finished.append(id)
            state.payments[id] = nil
            guard let index = state.sales.firstIndex(where: { $0.id == id }) else { return }
            state.sales[index].isFinished = true
        }
    }

    /// What lasts comes again, each under a new id, then that this was all.
    package func restoreCompletedTransactions() {
        let (faults, owned) = state.withLock { state in
            (state.faults, state.sales.filter { $0.type != .consumable && $0.revokedAt == nil })
        }
        if faults.contains(.refusesPassword) {
            return call { $0.paymentQueue($1, restoreCompletedTransactionsFailedWithError: SKError(.paymentCancelled)) }
        }
        if faults.contains(.isOffline) {
            return call { $0.paymentQueue($1, restoreCompletedTransactionsFailedWithError: SKError(.unknown)) }
        }
        let restored = owned.map { sale in
            let again = sell(Order(productID: sale.productID, quantity: 1, token: sale.token, username: nil))
            var copy = again
            copy.originalID = sale.id
            put(copy)
            return copy
        }
        if !restored.isEmpty {
            enqueue(restored)
            tellObservers(restored)
        }
        if faults.contains(.breaksRestoresOff) {
            return call { $0.paymentQueue($1, restoreCompletedTransactionsFailedWithError: SKError(.unknown)) }
        }
        call { $0.paymentQueueRestoreCompletedTransactionsFinished($1) }
    }

    package func start(_ request: SKRequest) {
        let request = Unchecked(value: request)
        calls.async { [weak self] in
            guard let self else { return }
            let (faults, items) = state.withLock { ($0.faults, $0.items) }
            let (request, listener) = (request.value, request.value.listener)
            if !(request is SKProductsRequest) { state.withLock { $0.log.refreshesAsked += 1 } }
            let refusesReceipt = !faults.isDisjoint(with: [.refusesPassword, .refusesReceipt])
            if faults.contains(.isOffline) || (refusesReceipt && !(request is SKProductsRequest)) {
                return listener?.request(request, didFailWithError: SKError(.unknown)) ?? ()
            }
            if let request = request as? SKProductsRequest {
                let known = request.identifiers.compactMap { items[$0] }
                let unknown = request.identifiers.filter { items[$0] == nil }
                request.delegate?.productsRequest(
                    request,
                    didReceive: SKProductsResponse(
                        products: known.map(Self.storeProduct), invalidProductIdentifiers: unknown.sorted()))
            } else {
                state.withLock { state in
                    state.log.refreshes += 1
                    state.isRefreshed = true
                }
            }
            listener?.requestDidFinish(request)
        }
    }

    /// A receipt that nobody signed: the ids of all that Apple has of this account, a line each.
    package var receiptURL: URL? {
        let (isThere, lines) = state.withLock { state in
            let isThere = !state.faults.contains(.hasNoReceipt) || state.isRefreshed
            return (isThere, state.sales.map { "\($0.id) \($0.productID)" })
        }
        let file = folder.appending(path: "receipt")
        guard isThere, (try? Data(lines.joined(separator: "\n").utf8).write(to: file, options: .atomic)) != nil else {
            return folder.appending(path: "none")
        }
        return file
    }

    static func storeProduct(_ item: Item) -> SKProduct {
        SKProduct(
            id: item.id, title: item.name, description: "A \(item.name)", price: item.price as NSDecimalNumber,
            locale: Locale(identifier: "de_DE"), group: item.type == .autoRenewable ? "group" : nil)
    }

    // MARK: Calling back

    /// Puts sales into the payment queue, as an app finds them there.
    private func enqueue(_ sales: [Sale]) {
        state.withLock { state in
            for sale in sales {
                let isForgotten = state.faults.contains(.forgetsUsernames) && sale.isOfEarlierLaunch
                state.payments[sale.id] = Unchecked(
                    value: Self.paymentTransaction(sale, username: isForgotten ? nil : sale.username))
            }
        }
    }

    func tellObservers(_ sales: [Sale]) {
        guard state.withLock({ !$0.observers.isEmpty }), !sales.isEmpty else { return }
        enqueue(sales)
        let transactions = state.withLock { state in
            Unchecked(value: sales.compactMap { state.payments[$0.id]?.value })
        }
        tell(transactions.value)
    }

    private func tell(_ transactions: [SKPaymentTransaction]) {
        let transactions = Unchecked(value: transactions)
        call { $0.paymentQueue($1, updatedTransactions: transactions.value) }
    }

    func call(_ body: @escaping @Sendable (any SKPaymentTransactionObserver, SKPaymentQueue) -> Void) {
        calls.async { [weak self] in
            guard let self else { return }
            let queue = SKPaymentQueue(device: self)
            for observer in state.withLock({ $0.observers }) { body(observer.value, queue) }
        }
    }

    private static func paymentTransaction(_ sale: Sale, username: String?) -> SKPaymentTransaction {
        let payment = SKPayment(productIdentifier: sale.productID)
        payment.username = username
        payment.count = sale.quantity
        guard sale.originalID != sale.id else {
            return SKPaymentTransaction(payment: payment, state: .purchased, identifier: "\(sale.id)")
        }
        let original = SKPaymentTransaction(
            payment: SKPayment(productIdentifier: sale.productID), state: .purchased, identifier: "\(sale.originalID)")
        // A renewal is bought, as is what is bought once more, a restored one is told as restored.
        return SKPaymentTransaction(
            payment: payment, state: ["RENEWAL", "AGAIN"].contains(sale.reason) ? .purchased : .restored,
            identifier: "\(sale.id)",
            original: original)
    }
}
