import Foundation
import PurchaseModel
import Testing

@testable import Fulfillment

@Suite("Which statement about a transaction counts")
struct BestStatementTests {
    private let receipt = Bench.entry("t1")
    private let token = UUID()

    @Test func `a signed transaction over a receipt, in either order`() {
        let signed = Bench.signed("t1", token: token)
        #expect(receipt.joined(with: [signed]) == signed)
        #expect(signed.joined(with: [receipt]) == signed)
        #expect(receipt.joined(with: []) == receipt)
    }

    @Test func `of equals the first`() {
        var newer = receipt
        newer.signedDate = Date(timeIntervalSince1970: 1_800_000_000)
        newer.evidence = "newer"
        #expect(receipt.joined(with: [newer, newer]) == receipt)
    }

    @Test func `the others fill what it lacks`() {
        var stated = receipt
        stated.productType = .consumable
        var told = receipt
        told.appAccountToken = token
        told.ownership = "PURCHASED"
        told.testPurchase = .sandbox
        var priced = receipt
        priced.priceMilliunits = 990
        priced.currency = "EUR"
        for joined in [stated.joined(with: [told, priced]), priced.joined(with: [stated, told])] {
            #expect(joined.productType == .consumable)
            #expect(joined.appAccountToken == token)
            #expect(joined.testPurchase == .sandbox)
            #expect(joined.priceMilliunits == 990 && joined.currency == "EUR")
        }
    }

    @Test func `a token is never lost to a statement without one`() {
        var old = receipt
        old.appAccountToken = token
        #expect(old.joined(with: [Bench.signed("t1")]).appAccountToken == token)
        #expect(Bench.signed("t1").joined(with: [old]).appAccountToken == token)
    }

    @Test func `a paid period ends when the newest statement says, and what was taken back stays so`() {
        var early = receipt
        early.expiresDate = Date(timeIntervalSince1970: 1_700_100_000)
        var extended = Bench.signed("t1")
        extended.signedDate = receipt.signedDate.addingTimeInterval(1)
        extended.expiresDate = Date(timeIntervalSince1970: 1_700_200_000)
        var taken = receipt
        taken.revocationDate = Date(timeIntervalSince1970: 1_700_000_400)
        taken.revocationReason = 1
        for order in [[early, extended, taken], [taken, early, extended], [extended, taken, early]] {
            let joined = order[0].joined(with: Array(order.dropFirst()))
            #expect(joined.expiresDate == extended.expiresDate)
            #expect(joined.revocationDate == taken.revocationDate && joined.revocationReason == 1)
            #expect(joined.evidence == extended.evidence)
        }
    }
}
