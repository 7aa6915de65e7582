import Foundation
import Messages
import PurchaseModel
import Testing

@testable import VerificationWorker

extension Transaction {
    /// A transaction of a lineage; its own when none is given.
    static func fixture(
        _ id: String, of lineage: String? = nil, environment: StoreEnvironment? = .production, evidence: String? = nil
    ) -> Transaction {
        var transaction = Transaction(
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
        Transaction.fixture("10"), .fixture("11", of: "10"), .fixture("20"), .fixture("12", of: "10"),
    ]

    private func added(_ ids: String...) -> Set<[UInt8]> { Set(ids.map { Array($0.utf8) }) }

    @Test("The named transaction stands for its lineage, and for nothing else")
    func lineage() {
        #expect(Claims.of(renewed, named: "11") == Claims(ids: ["10", "11", "12"]))
        #expect(Claims.of(renewed, named: "20") == Claims(ids: ["20"]))
    }

    @Test("A lineage may be named by its first transaction, even where a receipt lacks that one")
    func firstOfLineage() {
        #expect(Claims.of([.fixture("11", of: "10"), .fixture("20")], named: "10") == Claims(ids: ["11"]))
    }

    @Test("Without a name, one lineage is all the poster's, and of several none is")
    func unnamed() {
        #expect(Claims.of([.fixture("10"), .fixture("11", of: "10")], named: nil) == Claims(ids: nil))
        #expect(Claims.of([], named: nil) == Claims(ids: nil))
        #expect(Claims.of(renewed, named: nil) == Claims(ids: []))
    }

    @Test("A name that is not in the receipt is claimed alone")
    func missing() {
        #expect(Claims.of(renewed, named: "99") == Claims(ids: ["99"]))
        #expect(Claims.of([], named: "99") == Claims(ids: ["99"]))
        #expect(!Claims.holds(renewed, "99"))
    }

    @Test("What Apple's servers add to a receipt is not claimed beside what stands in it")
    func addedToLineage() {
        #expect(Claims.of(renewed, named: "12", added: added("12")) == Claims(ids: ["10", "11"]))
        #expect(Claims.of(renewed, named: "10", added: added("12", "20")) == Claims(ids: ["10", "11"]))
        let one = renewed.filter { $0.transactionId != "20" }
        #expect(Claims.of(one, named: nil, added: added("11", "12")) == Claims(ids: ["10"]))
    }

    @Test("A lineage of which nothing stands in the receipt is claimed without a proof")
    func unproven() {
        #expect(Claims.of(renewed, named: "20", added: added("20")) == Claims(ids: ["20"], areUnproven: true))
        #expect(
            Claims.of(renewed, named: "11", added: added("10", "11", "12"))
                == Claims(ids: ["10", "11", "12"], areUnproven: true))
        #expect(Claims.of([.fixture("20")], named: nil, added: added("20")) == Claims(ids: nil, areUnproven: true))
        #expect(Claims.of(renewed, named: nil, added: added("20")) == Claims(ids: []))
    }

    @Test("Ids are compared by bytes")
    func bytes() {
        // Equal to Swift's ==: an e with an acute accent in one scalar, and in two.
        let composed = "caf\u{E9}"
        let decomposed = "cafe\u{301}"
        #expect(composed == decomposed)
        #expect(Claims.of([.fixture(composed), .fixture("20")], named: decomposed).ids == [decomposed])
        #expect(Claims.of([.fixture(composed), .fixture(decomposed)], named: nil).ids == [])
        let both = Claims.of([.fixture(composed)], named: composed, added: added(decomposed))
        #expect(!both.areUnproven, "the other spelling was added")
    }
}
