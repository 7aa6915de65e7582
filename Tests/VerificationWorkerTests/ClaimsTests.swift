import Foundation
import PurchaseModel
import Testing

@testable import VerificationWorker

extension PurchasedTransaction {
    /// A transaction of a lineage; its own when none is given.
    static func fixture(
        _ id: String, of lineage: String? = nil, environment: StoreEnvironment? = .production, evidence: String? = nil
    ) -> PurchasedTransaction {
        var transaction = PurchasedTransaction(
            environment: environment, transactionId: id, originalTransactionId: lineage ?? id,
            bundleId: SubmissionFixture.app, productId: "coins.100", productType: .unstated, quantity: 1,
            purchaseDate: Date(timeIntervalSince1970: 1_700_000_000),
            signedDate: Date(timeIntervalSince1970: 1_700_000_000))
        transaction.evidence = evidence
        return transaction
    }
}

@Suite("Claims on the transactions of a receipt")
struct ClaimsTests {
    private let renewed = [
        PurchasedTransaction.fixture("10"), .fixture("11", of: "10"), .fixture("20"), .fixture("12", of: "10"),
    ]

    @Test("The named transaction stands for its lineage, and for nothing else")
    func lineage() {
        #expect(Claims.of(renewed, named: "11") == ["10", "11", "12"])
        #expect(Claims.of(renewed, named: "20") == ["20"])
    }

    @Test("A lineage may be named by its first transaction, even where a receipt lacks that one")
    func firstOfLineage() {
        #expect(Claims.of([.fixture("11", of: "10"), .fixture("20")], named: "10") == ["11"])
    }

    @Test("Without a name, one lineage is all the poster's, and of several none is")
    func unnamed() {
        #expect(Claims.of([.fixture("10"), .fixture("11", of: "10")], named: nil) == nil)
        #expect(Claims.of([], named: nil) == nil)
        #expect(Claims.of(renewed, named: nil) == [])
    }

    @Test("A name that is not in the receipt is claimed alone")
    func missing() {
        #expect(Claims.of(renewed, named: "99") == ["99"])
        #expect(Claims.of([], named: "99") == ["99"])
        #expect(!Claims.holds(renewed, "99"))
    }

    @Test("Ids are compared by bytes")
    func bytes() {
        // Equal to Swift's ==: an e with an acute accent in one scalar, and in two.
        let composed = "caf\u{E9}"
        let decomposed = "cafe\u{301}"
        #expect(composed == decomposed)
        #expect(Claims.of([.fixture(composed), .fixture("20")], named: decomposed) == [decomposed])
        #expect(Claims.of([.fixture(composed), .fixture(decomposed)], named: nil) == [])
    }
}
