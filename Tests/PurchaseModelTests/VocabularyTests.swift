import Foundation
import PurchaseModel
import Testing

@Suite("Words that nobody knew")
struct VocabularyTests {
    private static let gems = [Catalogue.ItemGrant(item: "gem", amount: 50)]

    private static func month(_ change: (inout Transaction) -> Void) -> Transaction {
        var transaction = Statements.signed(at: 10)
        transaction.productId = "vip.monthly"
        transaction.productType = .autoRenewable
        transaction.expiresDate = Statements.time(1_000)
        change(&transaction)
        return transaction
    }

    private static func product(
        assigned: MarkedPolicy = .hold, bundled: MarkedPolicy = .hold
    ) -> Catalogue.Product {
        Catalogue.Product(
            id: "vip.monthly", type: .autoRenewable, items: gems, entitlements: ["vip"], assigned: assigned,
            bundled: bundled)
    }

    private static func decide(
        _ transaction: Transaction, by product: Catalogue.Product = product(), isOperators: Bool = false
    ) -> OrderDecision {
        OrderDecision.decide(
            transaction, owner: .account(Account(stored: "anna")), product: product, isOperators: isOperators)
    }

    /// Field, and how a transaction says a word in it.
    private static let sayings: [(field: String, isHeld: Bool, change: @Sendable (inout Transaction) -> Void)] = [
        ("type", true, { $0.productType = ProductType(appleName: "Subscription Bundle") }),
        ("type", true, { $0.productType = ProductType(appleName: "Something New") }),
        ("inAppOwnershipType", true, { $0.ownership = "ASSIGNED" }),
        ("inAppOwnershipType", true, { $0.ownership = "LENT" }),
        ("bundle", true, { $0.bundleField = "bundleTransactionId" }),
        ("offerType", false, { $0.offerType = 9 }),
        ("offerDiscountType", false, { $0.offerDiscountType = "PAY_LATER" }),
        ("transactionReason", false, { $0.transactionReason = "GIFT" }),
        ("billingPlanType", false, { $0.commitment = Transaction.Commitment(billingPlan: "WEEKLY") }),
    ]

    @Test func `a word that decides what is granted holds the order, and any other holds nothing`() {
        for saying in Self.sayings {
            let transaction = Self.month(saying.change)
            #expect(Vocabulary.unusual(in: transaction).map(\.field) == [saying.field])
            let decision = Self.decide(transaction)
            #expect(decision.reason == (saying.isHeld ? .vocabularyUnknown : nil), "\(saying.field)")
            #expect(decision.items.isEmpty == saying.isHeld && decision.entitlements.isEmpty == saying.isHeld)
            #expect(decision.account == "anna")
        }
        #expect(Vocabulary.unusual(in: Self.month { $0.offerType = 5 }).isEmpty)
    }

    @Test func `an unknown type or reason of a revocation revokes, and one of a seat is no refund`() {
        for (type, reason, isRefund) in [
            ("REFUND_OTHERWISE", 0, true), ("REFUND_FULL", 7, true), ("ASSIGNMENT_REVOKE", 0, false),
            ("ASSIGNMENT_REVOKED", 0, false), ("FAMILY_REVOKE", 0, false),
        ] {
            let transaction = Self.month {
                $0.revocationDate = Statements.time(20)
                $0.revocationType = type
                $0.revocationReason = reason
            }
            #expect(Self.decide(transaction).state == .revoked)
            #expect(TakeBack.share(of: transaction) == TakeBack.wholeShare)
            #expect(transaction.isFamilyRevoke == !isRefund)
        }
        #expect(Self.month { ($0.ownership, $0.revocationDate) = ("ASSIGNED", Statements.time(20)) }.isFamilyRevoke)
    }

    @Test("a policy of the product decides what a seat and a part of a bundle bring", arguments: MarkedPolicy.allCases)
    func policies(policy: MarkedPolicy) {
        let seat = Self.month { ($0.ownership, $0.priceMilliunits) = ("ASSIGNED", nil) }
        let part = Self.month { $0.bundleField = "bundleProductId" }
        for decision in [
            Self.decide(seat, by: Self.product(assigned: policy)), Self.decide(part, by: Self.product(bundled: policy)),
        ] {
            #expect(decision.reason == (policy == .hold ? .vocabularyUnknown : nil))
            #expect(decision.items == (policy == .all ? Self.gems : []))
            #expect(decision.entitlements == ([.entitlements, .all].contains(policy) ? ["vip"] : []))
        }
        // Neither ends the doubt of the other, nor of a word that nobody knows.
        #expect(Self.decide(seat, by: Self.product(bundled: .all)).reason == .vocabularyUnknown)
        let lent = Self.month { $0.ownership = "LENT" }
        #expect(Self.decide(lent, by: Self.product(assigned: .all, bundled: .all)).reason == .vocabularyUnknown)
        #expect(Self.decide(lent, isOperators: true).reason == nil, "an operator may say what it is")
    }

    @Test func `what is of an unknown type has no key that makes two purchases one`() {
        let keys = ["1", "2", "3"].map { id in
            PurchaseKeys(
                of: Self.month {
                    ($0.transactionId, $0.originalTransactionId) = (id, "1")
                    $0.productType = ProductType(appleName: "Subscription Bundle")
                })
        }
        #expect(keys.allSatisfy { $0 == .none })
        #expect(PurchaseKeys(of: Self.month { $0.productType = .unstated }) != .none)
    }

    @Test func `what was kept under Apple's name is known once a version knows it`() throws {
        var kept = try JSONEncoder().encode(Self.month { $0.productType = ProductType(rawValue: "Consumable") })
        #expect(try JSONDecoder().decode(Transaction.self, from: kept).productType == .consumable)
        kept = try JSONEncoder().encode(Self.month { $0.productType = ProductType(rawValue: "New") })
        #expect(try JSONDecoder().decode(Transaction.self, from: kept).productType.rawValue == "New")
    }

    @Test func `a word is kept short, and printable`() {
        let long = "A\nB\u{0}é" + String(repeating: "x", count: 100)
        let word = Vocabulary.unusual(in: Self.month { $0.ownership = long })
        #expect(word.map(\.text) == ["AB" + String(repeating: "x", count: 62)])
    }

    @Test func `the table of the page is the one in the code`() throws {
        let readme = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../deploy/site/pages/unknown-values.md").standardized
        let text = try String(contentsOf: readme, encoding: .utf8)
        for field in Vocabulary.fields {
            func words(_ list: [String]) -> String { list.map { "`\($0)`" }.joined(separator: ", ") }
            let row =
                "| `\(field.name)` | \(words(field.known)) | \(words(field.undecided)) | \(field.effect.rawValue) |"
            #expect(text.contains(row.replacing("|  |", with: "| |")), "\(row)")
        }
    }
}
