import CountersignClientStoreKit
import Foundation
import StoreKit
import StoreKitTesting
import Testing

@Suite("StoreKit 2 for the queue", .timeLimit(.minutes(1)))
struct StoreKit2StoreTests {
    private let device = Shelf.device()

    @Test("products come with the App Store's words and prices; those it does not know are left out")
    func products() async throws {
        try await device.run {
            let products = try await StoreKit2Store().products([Shelf.gems, Shelf.castle, Shelf.pass, "none"])
            #expect(Set(products.map(\.id)) == [Shelf.gems, Shelf.castle, Shelf.pass])
            let gems = try #require(products.first { $0.id == Shelf.gems })
            #expect(gems.displayName == "100 gems" && gems.description == "A 100 gems")
            #expect(gems.displayPrice == "€0.99" && gems.currencyCode == "EUR" && gems.kind == .consumable)
            #expect(products.first { $0.id == Shelf.pass }?.kind == .autoRenewable)
            device.misbehave(.isOffline)
            await #expect(throws: StoreKitError.self) { try await StoreKit2Store().products([Shelf.gems]) }
        }
    }

    @Test("an order is told with its token and quantity, and what comes of it has all that Apple says")
    func purchase() async throws {
        try await device.run {
            let token = UUID()
            let outcome = try await StoreKit2Store().purchase(
                StoreOrder(productID: Shelf.gems, quantity: 3, accountToken: token))
            guard case .purchased(let transaction) = outcome else { throw TestFailure("\(outcome)") }
            #expect(device.log.sheets == [[.quantity(3), .appAccountToken(token)]])
            let sale = try #require(device.sales.first)
            #expect(transaction.id == "\(sale.id)" && transaction.originalID == "\(sale.id)")
            #expect(transaction.productID == Shelf.gems && transaction.quantity == 3)
            #expect(transaction.accountToken == token && transaction.environment == .sandbox)
            #expect(transaction.origin == .purchase && !transaction.isRevoked)
            guard case .signedTransaction(let jws) = transaction.proof else { throw TestFailure("no JWS") }
            #expect(jws.hasPrefix("e30."))
            #expect(device.log.finished.isEmpty, "an adapter finishes nothing")
            // An order of one has no quantity, and one without an intent no token.
            _ = try await StoreKit2Store().purchase(StoreOrder(productID: Shelf.gems))
            #expect(device.log.sheets.last?.isEmpty == true)
        }
    }

    @Test("what StoreKit cannot verify is passed on like all else: the server judges")
    func unverified() async throws {
        try await device.run {
            device.misbehave(.cannotVerify)
            let store = StoreKit2Store()
            let outcome = try await store.purchase(StoreOrder(productID: Shelf.gems))
            guard case .purchased(let transaction) = outcome else { throw TestFailure("\(outcome)") }
            #expect(await store.unfinished() == [transaction])
            let updates = await store.updates()
            #expect(await updates.first { _ in true } == transaction)
        }
    }

    @Test(
        "every way in which a sheet ends has its outcome",
        arguments: [
            (DeviceFaults.asksForApproval, StorePurchaseOutcome.pending), (.isCancelled, .cancelled),
            (.cancelsByError, .cancelled),
        ])
    func outcomes(faults: DeviceFaults, expected: StorePurchaseOutcome) async throws {
        try await device.run {
            device.misbehave(faults)
            let outcome = try await StoreKit2Store().purchase(StoreOrder(productID: Shelf.gems))
            #expect(outcome == expected)
            #expect(device.sales.isEmpty)
        }
    }

    @Test("an error says that nothing was paid only where that is certain")
    func errors() async throws {
        await device.run {
            let store = StoreKit2Store()
            let order = StoreOrder(productID: Shelf.gems, offer: .promotional(Shelf.offer))
            await #expect {
                try await store.purchase(StoreOrder(productID: "none"))
            } throws: {
                ($0 as? CountersignClient.PurchaseError)?.code == .productUnavailable
            }
            device.misbehave(.refusesOffers)
            await #expect {
                try await store.purchase(order)
            } throws: {
                ($0 as? CountersignClient.PurchaseError)?.code == .orderInvalid
            }
            device.misbehave(.failsAfterPaying)
            await #expect(throws: StoreKitError.self) { try await store.purchase(order) }
            #expect(device.sales.count == 1)
            #expect(await store.unfinished().map(\.id) == device.unfinishedIDs, "it is found all the same")
            device.misbehave(.forbidsPayments)
            #expect(await !store.canMakePayments())
        }
    }

    @Test("a signed offer goes along: as a JWS where there is one, else in parts; the introductory one, too")
    func offers() async throws {
        try await device.run {
            let store = StoreKit2Store()
            var offer = Shelf.offer
            _ = try await store.purchase(StoreOrder(productID: Shelf.pass, offer: .promotional(offer)))
            let signature = try #require(Data(base64Encoded: offer.signature))
            #expect(
                device.log.sheets.last == [
                    .promotionalOffer(
                        offerID: "comeback", keyID: "KEY", nonce: offer.nonce, signature: signature,
                        timestamp: 1_767_225_600_123)
                ])
            offer.jws = "a.b.c"
            _ = try await store.purchase(StoreOrder(productID: Shelf.pass, offer: .promotional(offer)))
            #expect(
                device.log.sheets.last == Set(Product.PurchaseOption.promotionalOffer("comeback", compactJWS: "a.b.c")))
            _ = try await store.purchase(
                StoreOrder(productID: Shelf.pass, offer: .introductoryEligibility(jws: "d.e.f")))
            #expect(device.log.sheets.last == [.introductoryOfferEligibility(compactJWS: "d.e.f")])
            (offer.jws, offer.signature) = (nil, "not base64!")
            await #expect(throws: CountersignClient.PurchaseError.self) {
                try await store.purchase(StoreOrder(productID: Shelf.pass, offer: .promotional(offer)))
            }
            #expect(device.log.sheets.count == 3, "no sheet opens for what is no signature")
        }
    }

    @Test("a transaction of an earlier launch is finished by its id, and one that is not there is no error")
    func finishing() async throws {
        try await device.run {
            let first = device.bring(Shelf.gems)
            let second = device.bring(Shelf.gems)
            // As the journal of an earlier launch has it: this store was given neither.
            let kept = StoreTransaction(
                id: "\(second.id)", productID: Shelf.gems, proof: .signedTransaction("e30.e30.AA"))
            try await StoreKit2Store().finish(kept)
            #expect(device.log.finished == [second.id])
            #expect(device.unfinishedIDs == ["\(first.id)"])
            try await StoreKit2Store().finish(kept)
            #expect(device.log.finished == [second.id])
        }
    }

    @Test("updates bring what is unfinished once, then renewals and refunds, each with what it is")
    func updates() async throws {
        await device.run {
            let sale = device.bring(Shelf.pass)
            let store = StoreKit2Store()
            let updates = await store.updates()
            var told = updates.makeAsyncIterator()
            #expect(await told.next()?.id == "\(sale.id)")
            let renewal = device.bring(Shelf.pass, of: sale.id, reason: "RENEWAL")
            let renewed = await told.next()
            #expect(renewed?.origin == .renewal && renewed?.id == "\(renewal.id)")
            #expect(renewed?.originalID == "\(sale.id)")
            device.refund(sale.id)
            let refunded = await told.next()
            #expect(refunded?.id == "\(sale.id)" && refunded?.isRevoked == true)
            let again = await StoreKit2Store().updates()
            await device.waitForListeners(2)
            device.endApp()
            #expect(await again.first { _ in true } == nil, "what was told once is not told again at this launch")
        }
    }

    @Test("a restore asks Apple once, and has what is unfinished and what lasts, each once; who cancels, cancels")
    func restore() async throws {
        try await device.run {
            let finished = device.bring(Shelf.castle, isFinished: true)
            let waiting = device.bring(Shelf.pass)
            let gems = device.bring(Shelf.gems)
            device.bring(Shelf.gems, isFinished: true)
            let restored = try await StoreKit2Store().restore()
            #expect(restored.map(\.id) == [waiting.id, gems.id, finished.id].map { "\($0)" })
            #expect(restored.map(\.origin) == [.purchase, .purchase, .restored])
            #expect(device.log.syncs == 1)
            device.misbehave(.refusesPassword)
            await #expect(throws: CancellationError.self) { try await StoreKit2Store().restore() }
            device.misbehave(.isOffline)
            await #expect(throws: StoreKitError.self) { try await StoreKit2Store().restore() }
        }
    }

    @Test("what is chosen on the App Store's page comes as a product's id")
    func promoted() async throws {
        await device.run {
            let store = StoreKit2Store()
            let promoted = store.promotedPurchases()
            await device.waitForIntentListener()
            device.promote(Shelf.gems)
            #expect(await promoted.first { _ in true }?.productID == Shelf.gems)
            #expect(device.log.sheets.isEmpty, "the app buys it, with an intent")
        }
    }
}

struct TestFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
