import Foundation
import Testing

@testable import PurchaseModel

/// What several transaction ids of one purchase say together.
@Suite("Purchases")
struct PurchaseTests {
    private static func day(_ number: Double) -> Date { Date(timeIntervalSince1970: 1_700_000_000 + number * 86_400) }

    /// A month of a subscription, as Apple signs it on a day under an id.
    private static func month(_ id: String, signed: Double, revoked: Double? = nil, lineItem: String? = "w1")
        -> Transaction
    {
        var transaction = Transaction(
            environment: .production, transactionId: id, originalTransactionId: "o", bundleId: "app",
            productId: "vip.month", productType: .autoRenewable, quantity: 1, purchaseDate: day(0),
            signedDate: day(signed))
        transaction.expiresDate = day(30)
        transaction.ownership = "PURCHASED"
        transaction.priceMilliunits = 4_990
        transaction.webOrderLineItemId = lineItem
        transaction.revocationDate = revoked.map(day)
        return transaction
    }

    @Test func `a copy that an expired certificate signed says nothing of a purchase that is vouched for`() {
        let known = Purchase(Self.month("b", signed: 1))
        var copy = Self.month("a", signed: 9, revoked: 8)
        copy.purchaseDate = Self.day(-100)
        copy.expiresDate = Self.day(300)
        copy.hasExpiredSigner = true
        #expect(known.adding([copy]).transaction == known.transaction)
        var late = Purchase(copy)
        #expect(!late.transaction.isVouchedFor && late.transaction.revocationDate != nil)
        late.add(Self.month("b", signed: 1))
        #expect(late.transaction.isVouchedFor && late.transaction.revocationDate == nil)
        #expect(late.transaction.expiresDate == Self.day(30) && late.transaction.purchaseDate == Self.day(0))
        #expect(late.transaction.transactionId == "a", "the id under which it was recorded first")
    }

    @Test func `a period has the key of its line item, and one of its product and second`() {
        let keys = PurchaseKeys(of: Self.month("a", signed: 0))
        #expect(keys.key?.text == "p:o:w1")
        #expect(keys.fallback?.text == "d:o:vip.month:1700000000")
        for none in [nil, "", "0"] {
            let keys = PurchaseKeys(of: Self.month("a", signed: 0, lineItem: none))
            #expect(keys.key == nil && keys.fallback?.text == "d:o:vip.month:1700000000")
        }
        var once = Self.month("a", signed: 0)
        once.productType = .nonConsumable
        #expect(PurchaseKeys(of: once).key?.text == "o:o" && PurchaseKeys(of: once).fallback == nil)
        once.productType = .consumable
        #expect(PurchaseKeys(of: once) == .none)
    }

    @Test func `a refund of any id revokes; a stale copy does not undo it; newer statements and reversals do`() {
        let refund = Self.month("b", signed: 5, revoked: 4)
        let copies = [Self.month("a", signed: 0), Self.month("c", signed: 9)]
        let revoked = Purchase(copies[0]).adding([refund, copies[1]])
        #expect(revoked.transaction.revocationDate == Self.day(4))
        #expect(revoked.transaction.transactionId == "a")
        #expect(revoked.adding([Self.month("b", signed: 8).fromServer]).transaction.revocationDate == nil)
        #expect(revoked.adding([Self.month("c", signed: 8).reversingRefunds]).transaction.revocationDate == nil)
        // Refunded once more after the reversal.
        let again = revoked.adding([
            Self.month("c", signed: 8).reversingRefunds, Self.month("a", signed: 10, revoked: 9.5),
        ])
        #expect(again.transaction.revocationDate == Self.day(9.5))
    }

    @Test func `the order in which statements come decides nothing but the order's own id`() {
        var seeds = SystemRandomNumberGenerator()
        let statements = ["a", "b", "c", "d"].flatMap { id in
            (0..<4).map { number -> Transaction in
                let signed = Double.random(in: 0...20, using: &seeds)
                var statement = Self.month(
                    id, signed: signed, revoked: Bool.random() ? signed : nil, lineItem: Bool.random() ? "w1" : nil)
                if number == 3 { statement = statement.reversingRefunds }
                return statement
            }
        }
        var results: Set<Transaction> = []
        for _ in 0..<500 {
            let shuffled = statements.shuffled() + statements.shuffled()
            var transaction = Purchase(shuffled[0]).adding(Array(shuffled.dropFirst())).transaction
            transaction.transactionId = ""
            results.insert(transaction)
        }
        #expect(results.count == 1)
    }

    @Test func `what is stored of several ids is the same purchase again`() {
        let purchase = Purchase(Self.month("a", signed: 0)).adding([Self.month("b", signed: 5, revoked: 4)])
        let statements = Dictionary(uniqueKeysWithValues: purchase.statements.map { ($0.transactionId, $0) })
        #expect(Purchase(stored: purchase.transaction, statements: statements) == purchase)
    }

    @Test func `a restored copy does not move the day of the purchase`() {
        var restored = Self.month("b", signed: 40)
        restored.purchaseDate = Self.day(39)
        restored.originalPurchaseDate = Self.day(39)
        var first = Self.month("a", signed: 0)
        first.originalPurchaseDate = Self.day(0)
        let transaction = Purchase(restored).adding([first]).transaction
        #expect(transaction.purchaseDate == Self.day(0) && transaction.originalPurchaseDate == Self.day(0))
    }

    @Test func `what is bought anew each time and names another purchase is misnumbered`() {
        var coins = Self.month("a", signed: 0)
        coins.productType = .consumable
        #expect(coins.isMisnumbered(.consumable) && coins.isMisnumbered(.nonRenewing))
        #expect(!coins.isMisnumbered(.nonConsumable) && !coins.isMisnumbered(.autoRenewable))
        coins.originalTransactionId = "a"
        #expect(!coins.isMisnumbered(.consumable))
    }
}
