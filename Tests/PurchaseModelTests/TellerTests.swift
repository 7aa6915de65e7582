import Foundation
import PurchaseModel
import Testing

@Suite("Who may undo a refund")
struct TellerTests {
    private let refunded = Statements.revoked(at: 20).fromServer

    @Test("a device's statement without it undoes none, however late it is signed", arguments: [21.0, 25, 1e6])
    func device(time: Double) {
        let stale = Statements.signed(at: time)
        for joined in [refunded.joined(with: stale), stale.joined(with: refunded)] {
            #expect(joined.revocationDate == refunded.revocationDate)
            #expect(joined.signedDate == stale.signedDate, "the rest of it is the newest")
            #expect(joined.joined(with: stale) == joined)
            #expect(joined.joined(with: Statements.signed(at: time + 1).fromServer).revocationDate == nil)
        }
        #expect(Purchase(refunded).adding([stale]).isRevocationDoubted(by: stale))
    }

    @Test func `nor one of a refund that only a device told`() {
        let shown = Statements.revoked(at: 20)
        #expect(shown.joined(with: Statements.signed(at: 25)).revocationDate != nil)
        #expect(shown.joined(with: Statements.signed(at: 25).fromServer).revocationDate == nil)
    }

    @Test func `what Apple's server said before the refund undoes nothing, and what it says later does`() {
        let statements = [
            Statements.signed(at: 10).fromServer, refunded, Statements.signed(at: 22),
            Statements.signed(at: 30).fromServer,
        ]
        for order in Statements.permutations(of: Array(statements.prefix(3))) {
            #expect(order[0].joined(with: Array(order.dropFirst())).revocationDate != nil)
        }
        for order in Statements.permutations(of: statements) {
            let joined = order[0].joined(with: Array(order.dropFirst()))
            #expect(joined.revocationDate == nil && joined.teller == .server)
        }
    }

    @Test func `where Apple cannot be asked, a device counts from the delay on`() {
        let delay: TimeInterval = 86_400
        let early = Statements.signed(at: 20 + delay - 1).countingWithoutRevocation(after: delay)
        let late = Statements.signed(at: 20 + delay + 1).countingWithoutRevocation(after: delay)
        for order in Statements.permutations(of: [refunded, early]) {
            #expect(order[0].joined(with: order[1]).revocationDate != nil)
        }
        for order in Statements.permutations(of: [refunded, early, late]) {
            #expect(order[0].joined(with: Array(order.dropFirst())).revocationDate == nil)
        }
        // Told anew by Apple's server since: it stands, whatever the device showed before.
        let again = Statements.revoked(at: 20 + 2 * delay).fromServer
        for order in Statements.permutations(of: [refunded, late, again]) {
            #expect(order[0].joined(with: Array(order.dropFirst())).revocationDate == again.revocationDate)
        }
        #expect(refunded.countingWithoutRevocation(after: delay) == refunded)
        let receipt = Statements.receipt(signedAt: 1e7)
        #expect(receipt.countingWithoutRevocation(after: delay) == receipt, "a receipt ends none")
    }

    @Test func `a copy under another id undoes none, and is a doubt; Apple's word of the refunded id ends it`() {
        var copy = Statements.signed(at: 40)
        copy.transactionId = "t2"
        var purchase = Purchase(refunded).adding([copy])
        #expect(purchase.transaction.revocationDate == refunded.revocationDate)
        #expect(purchase.isRevocationDoubted(by: copy))
        #expect(!purchase.isRevocationDoubted(by: copy.fromServer) && !purchase.isRevocationDoubted(by: refunded))
        #expect(!purchase.isRevocationDoubted(by: Statements.signed(at: 19)))
        purchase.add(copy.fromServer)
        #expect(purchase.transaction.revocationDate != nil)
        purchase.add(Statements.signed(at: 50).fromServer)
        #expect(purchase.transaction.revocationDate == nil && purchase.transaction.teller == .server)
    }

    @Test func `of several types all are kept, and a receipt's counts least`() {
        var month = Statements.signed(at: 10)
        month.productType = .autoRenewable
        var other = Statements.signed(at: 20)
        other.productType = .nonRenewing
        var receipt = Statements.receipt(signedAt: 1)
        receipt.productType = .consumable
        for order in Statements.permutations(of: [month, other, receipt, month]) {
            let joined = order[0].joined(with: Array(order.dropFirst()))
            #expect(joined.contradictingTypes == [.autoRenewable, .nonRenewing])
            #expect(joined.productType == .autoRenewable && joined.signedDate == other.signedDate)
        }
        #expect(month.joined(with: receipt).contradictingTypes == nil)
    }
}
