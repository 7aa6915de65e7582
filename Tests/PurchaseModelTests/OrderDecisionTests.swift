import Foundation
import PurchaseModel
import Testing

@Suite("Whose a purchase is, and what it grants")
struct OrderDecisionTests {
    private let gems = Catalogue.Product(
        id: "gems.100", type: .consumable, items: [Catalogue.ItemGrant(item: "gem", amount: 100)], entitlements: [])

    private func transaction(quantity: Int = 1, type: ProductType = .consumable) -> Transaction {
        Transaction(
            environment: .production, transactionId: "1", originalTransactionId: "1", bundleId: "com.example.game",
            productId: "gems.100", productType: type, quantity: quantity,
            purchaseDate: Date(timeIntervalSince1970: 1), signedDate: Date(timeIntervalSince1970: 2))
    }

    @Test func `the token's account gets it, whoever posts`() {
        let decision = OrderDecision.decide(
            transaction(), owner: OrderOwner(token: .account("buyer"), claimant: "thief"), product: gems)
        #expect(decision.state == .granted)
        #expect(decision.account == "buyer")
        #expect(decision.items == [Catalogue.ItemGrant(item: "gem", amount: 100)])
    }

    @Test func `without a token the poster gets it`() {
        let decision = OrderDecision.decide(
            transaction(), owner: OrderOwner(token: .noToken, claimant: "player"), product: gems)
        #expect(decision.state == .granted)
        #expect(decision.account == "player")
        #expect(decision.reason == nil)
    }

    @Test func `an unknown token is parked with no account`() {
        let decision = OrderDecision.decide(
            transaction(), owner: OrderOwner(token: .unknown, claimant: "player"), product: gems)
        #expect(decision.state == .parked)
        #expect(decision.reason == .accountTokenUnknown)
        #expect(decision.account == nil)
        #expect(decision.items.isEmpty)
    }

    @Test func `what merely stands in the same receipt is nobody's`() {
        for product in [gems, nil] {
            let decision = OrderDecision.decide(
                transaction(type: .unstated), owner: OrderOwner(token: .noToken, claimant: nil), product: product
            )
            #expect(decision.state == .parked)
            #expect(decision.reason == .unclaimed)
            #expect(decision.account == nil && decision.items.isEmpty)
        }
    }

    @Test func `a token names the account of what nobody claims`() {
        let decision = OrderDecision.decide(
            transaction(), owner: OrderOwner(token: .account("buyer"), claimant: nil), product: gems)
        #expect(decision.state == .granted && decision.account == "buyer")
        let unknown = OrderDecision.decide(
            transaction(), owner: OrderOwner(token: .unknown, claimant: "player"), product: gems)
        #expect(unknown.reason == .accountTokenUnknown && unknown.account == nil)
    }

    @Test func `a type that Apple does not state is the catalogue's`() {
        let decision = OrderDecision.decide(
            transaction(type: .unstated), owner: OrderOwner(token: .noToken, claimant: "player"), product: gems)
        #expect(decision.state == .granted)
        #expect(!ProductType.known.contains(.unstated), "a catalogue has to say what it sells")
    }

    @Test func `what Apple took back is nobody's when nobody claims it`() {
        var taken = transaction()
        taken.revocationDate = Date(timeIntervalSince1970: 3)
        let decision = OrderDecision.decide(
            taken, owner: OrderOwner(token: .noToken, claimant: nil), product: gems)
        #expect(decision.state == .revoked && decision.account == nil)
    }

    @Test func `an unknown product is parked for its owner`() {
        let decision = OrderDecision.decide(
            transaction(), owner: OrderOwner(token: .noToken, claimant: "player"), product: nil)
        #expect(decision.state == .parked)
        #expect(decision.reason == .productUnknown)
        #expect(decision.account == "player")
    }

    @Test func `a type that Apple does not sign is parked`() {
        let decision = OrderDecision.decide(
            transaction(type: .nonConsumable), owner: OrderOwner(token: .noToken, claimant: "player"), product: gems)
        #expect(decision.state == .parked)
        #expect(decision.reason == .productTypeMismatch)
    }

    @Test func `quantity multiplies`() {
        let decision = OrderDecision.decide(
            transaction(quantity: 7), owner: OrderOwner(token: .noToken, claimant: "player"), product: gems)
        #expect(decision.items == [Catalogue.ItemGrant(item: "gem", amount: 700)])
    }

    @Test func `an amount beyond the limit is parked and not cut`() {
        let decision = OrderDecision.decide(
            transaction(quantity: .max), owner: OrderOwner(token: .noToken, claimant: "player"), product: gems)
        #expect(decision.state == .parked)
        #expect(decision.reason == .amountTooLarge)
    }

    @Test func `what Apple took back grants nothing`() {
        var taken = transaction()
        taken.revocationDate = Date(timeIntervalSince1970: 3)
        let decision = OrderDecision.decide(
            taken, owner: OrderOwner(token: .noToken, claimant: "player"), product: gems)
        #expect(decision.state == .revoked)
        #expect(decision.reason == .revokedByApple)
        #expect(decision.items.isEmpty)
    }

    @Test func `keys sort by environment, then id`() {
        let first = OrderKey(environment: .production, transactionId: "9")
        let second = OrderKey(environment: .sandbox, transactionId: "1")
        #expect([second, first].sorted() == [first, second])
    }
}
