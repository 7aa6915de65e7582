import CountersignClientStoreKit
import Foundation
import StoreKit
import StoreKitTesting
import Testing

@Suite("StoreKit 1 for the queue", .timeLimit(.minutes(1)))
struct StoreKit1StoreTests {
    private let device = Shelf.device()

    private func store() -> StoreKit1Store { StoreKit1Store(receiptURL: { [device] in device.receiptURL }) }

    @Test("products come with prices as the person writes them; those the App Store does not know are left out")
    func products() async throws {
        try await device.run {
            let products = try await store().products([Shelf.gems, Shelf.pass, "none"])
            #expect(Set(products.map(\.id)) == [Shelf.gems, Shelf.pass])
            let gems = try #require(products.first { $0.id == Shelf.gems })
            #expect(gems.displayName == "100 gems" && gems.price == 0.99 && gems.currencyCode == "EUR")
            // The space between is one that does not break.
            #expect(gems.displayPrice.hasPrefix("0,99") && gems.displayPrice.hasSuffix("€"), "\(gems.displayPrice)")
            #expect(gems.kind == .unknown && products.first { $0.id == Shelf.pass }?.kind == .autoRenewable)
            #expect(try await store().products(["none"]).isEmpty)
            device.misbehave(.isOffline)
            await #expect(throws: SKError.self) { try await store().products([Shelf.gems]) }
        }
    }

    @Test("two buyers wait, and each gets what was bought with the own applicationUsername, in lower case")
    func purchases() async throws {
        try await device.run {
            let store = store()
            let tokens = [UUID(), UUID()]
            async let first = store.purchase(StoreOrder(productID: Shelf.gems, quantity: 2, accountToken: tokens[0]))
            async let second = store.purchase(StoreOrder(productID: Shelf.gems, accountToken: tokens[1]))
            for (outcome, token) in zip(try await [first, second], tokens) {
                guard case .purchased(let transaction) = outcome else { throw TestFailure("\(outcome)") }
                #expect(transaction.accountToken == token && transaction.proof == .receipt)
                #expect(transaction.quantity == (token == tokens[0] ? 2 : 1))
            }
            #expect(Set(device.sales.compactMap(\.username)) == Set(tokens.map { $0.uuidString.lowercased() }))
            #expect(await store.unfinished().count == 2)
            #expect(device.log.finished.isEmpty)
        }
    }

    @Test(
        "a payment that failed is taken out of the payment queue, and says what it was",
        arguments: [
            (DeviceFaults.isCancelled, nil), (.cancelsByError, nil), (.forbidsPayments, "payments_not_allowed"),
            (.refusesOffers, "order_invalid"), (.isOffline, "SKError"),
        ] as [(DeviceFaults, String?)])
    func failures(faults: DeviceFaults, code: String?) async throws {
        try await device.run {
            let store = store()
            _ = try await store.products([Shelf.pass])
            device.misbehave(faults)
            let order = StoreOrder(productID: Shelf.pass, offer: .promotional(Shelf.offer))
            if let code {
                await #expect {
                    try await store.purchase(order)
                } throws: { error in
                    let known = (error as? CountersignClient.PurchaseError)?.code.rawValue
                    return known == code || (code == "SKError" && error is SKError)
                }
            } else {
                #expect(try await store.purchase(order) == .cancelled)
            }
            #expect(device.log.finishedFailures == 1)
            #expect(
                device.log.discounts == [
                    [
                        "comeback", "KEY", Shelf.offer.nonce.uuidString.lowercased(), "MEUCIQ==", "1767225600123",
                    ]
                ])
            #expect(await store.unfinished().isEmpty)
        }
    }

    @Test("a deferred payment is pending, and comes as an update when it is approved")
    func deferred() async throws {
        try await device.run {
            let store = store()
            device.misbehave(.asksForApproval)
            let outcome = try await store.purchase(StoreOrder(productID: Shelf.gems))
            #expect(outcome == .pending)
            device.approve()
            let updates = await store.updates()
            let approved = await updates.first { _ in true }
            #expect(approved?.id == device.unfinishedIDs.first && approved != nil)
        }
    }

    @Test("it observes from the beginning: what comes before anybody listens is kept, all of it and not the last")
    func observing() async throws {
        await device.run {
            let sales = [device.bring(Shelf.gems), device.bring(Shelf.castle), device.bring(Shelf.gems)]
            let store = store()
            await device.callsAreMade()
            var updates = await store.updates().makeAsyncIterator()
            for sale in sales { #expect(await updates.next()?.id == "\(sale.id)") }
        }
    }

    @Test("where the payment queue's handler is not called at launch, what is unfinished is found all the same")
    func silence() async throws {
        await device.run {
            device.misbehave(.isSilentAtLaunch)
            let sale = device.bring(Shelf.gems)
            let store = store()
            await device.callsAreMade()
            #expect(await store.unfinished().map(\.id) == ["\(sale.id)"])
        }
    }

    @Test("after a restart a forgotten applicationUsername is nil, and no other account's")
    func forgotten() async throws {
        await device.run {
            device.misbehave(.forgetsUsernames)
            let token = UUID()
            device.bring(Shelf.gems, token: token, username: token.uuidString.lowercased())
            device.endApp()
            #expect(await store().unfinished().map(\.accountToken) == [nil])
            device.misbehave([])
            device.endApp()
            #expect(await store().unfinished().map(\.accountToken) == [token])
        }
    }

    @Test("a restore gives what lasts, with the ids that it had; failed, empty and cancelled ones end, too")
    func restore() async throws {
        try await device.run {
            let store = store()
            #expect(try await store.restore().isEmpty)
            let castle = device.bring(Shelf.castle, isFinished: true)
            device.bring(Shelf.gems, isFinished: true)
            let restored = try await store.restore()
            #expect(restored.map(\.originalID) == ["\(castle.id)"] && restored.map(\.origin) == [.restored])
            #expect(restored.first?.id != "\(castle.id)")
            device.misbehave(.refusesPassword)
            await #expect(throws: CancellationError.self) { try await store.restore() }
            device.misbehave(.isOffline)
            await #expect(throws: SKError.self) { try await store.restore() }
        }
    }

    @Test("without a receipt there is none, and a new one is asked for only on demand")
    func receipt() async throws {
        try await device.run {
            let store = store()
            device.misbehave(.hasNoReceipt)
            let sale = device.bring(Shelf.gems)
            #expect(try await store.receipt(isRefreshing: false) == nil)
            #expect(device.log.refreshes == 0)
            let receipt = try #require(try await store.receipt(isRefreshing: true))
            #expect(String(decoding: receipt, as: UTF8.self) == "\(sale.id) \(Shelf.gems)")
            #expect(device.log.refreshes == 1)
            // One that is there is enough, whatever the person says to a question that is not asked.
            device.misbehave([.hasNoReceipt, .refusesPassword])
            #expect(try await store.receipt(isRefreshing: true) == receipt)
            #expect(device.log.refreshesAsked == 1)
        }
    }

    @Test("a receipt that Apple refuses is asked for once, until somebody restores again")
    func refusedReceipt() async throws {
        try await device.run {
            let store = store()
            let sale = device.bring(Shelf.gems)
            device.misbehave([.hasNoReceipt, .refusesPassword])
            for _ in 0..<3 { await #expect(throws: SKError.self) { try await store.receipt(isRefreshing: true) } }
            #expect(device.log.refreshesAsked == 1)
            device.misbehave(.hasNoReceipt)
            _ = try await store.restore()
            let receipt = try #require(try await store.receipt(isRefreshing: true))
            #expect(String(decoding: receipt, as: UTF8.self) == "\(sale.id) \(Shelf.gems)")
            #expect(device.log.refreshesAsked == 2)
        }
    }

    @Test("what is chosen on the App Store's page comes as a product's id; its own payment is not added")
    func promoted() async throws {
        await device.run {
            let store = store()
            device.promote(Shelf.gems)
            #expect(await store.promotedPurchases().first { _ in true }?.productID == Shelf.gems)
            #expect(device.sales.isEmpty)
        }
    }

    @Test("who stops waiting for a payment sheet loses nothing: the purchase comes as an update")
    func cancelledTask() async throws {
        try await device.run {
            let store = store()
            _ = try await store.products([Shelf.gems])
            device.pauseCalls()
            let buying = Task { try await store.purchase(StoreOrder(productID: Shelf.gems)) }
            await device.waitForPayments(1)
            buying.cancel()
            await #expect(throws: CancellationError.self) { try await buying.value }
            device.resumeCalls()
            let updates = await store.updates()
            #expect(await updates.first { _ in true }?.id == device.unfinishedIDs.first)
        }
    }

    @Test("a transaction that the payment queue does not have is no error; an introductory offer is for StoreKit 2")
    func edges() async throws {
        try await device.run {
            let store = store()
            try await store.finish(StoreTransaction(id: "7", productID: Shelf.gems, proof: .receipt))
            #expect(device.log.finished.isEmpty)
            await #expect {
                try await store.purchase(
                    StoreOrder(productID: Shelf.pass, offer: .introductoryEligibility(jws: "a.b.c")))
            } throws: {
                ($0 as? CountersignClient.PurchaseError)?.code == .orderInvalid
            }
            await #expect {
                try await store.purchase(StoreOrder(productID: "none"))
            } throws: {
                ($0 as? CountersignClient.PurchaseError)?.code == .productUnavailable
            }
        }
    }
}
