import ChanceTesting
import Foundation
import PurchaseModel
import Testing

@Suite("What several statements about one transaction say together")
struct JoinedStatementsTests {
    private let receipt = Statements.receipt(signedAt: 500)
    private let token = UUID()

    @Test func `a signed transaction over a receipt, in either order, whichever is newer`() {
        for time in [1.0, 900] {
            var signed = Statements.signed(at: time)
            signed.appAccountToken = token
            #expect(receipt.joined(with: [signed]) == signed)
            #expect(signed.joined(with: [receipt]) == signed)
        }
        #expect(receipt.joined(with: []) == receipt)
    }

    @Test func `of two receipts the newer, and the same one again changes nothing`() {
        var newer = receipt
        newer.signedDate = Statements.time(600)
        newer.evidence = "newer"
        let joined = receipt.joined(with: [newer, newer, receipt])
        #expect(joined == newer)
        #expect(joined.joined(with: [receipt]) == joined)
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
        let joined = stated.joined(with: [told, priced])
        #expect(joined == priced.joined(with: [stated, told]))
        #expect(joined.productType == .consumable)
        #expect(joined.appAccountToken == token)
        #expect(joined.testPurchase == .sandbox)
        #expect(joined.priceMilliunits == 990 && joined.currency == "EUR")
        // Three receipts are no signed transaction, though together they state as much.
        let signed = Statements.signed(at: 1)
        #expect(joined.joined(with: [signed]).signedDate == signed.signedDate)
    }

    @Test func `a token is never lost to a statement without one, and the newest that states one counts`() {
        var old = Statements.signed(at: 10)
        old.appAccountToken = token
        let silent = Statements.signed(at: 30)
        #expect(old.joined(with: [silent]).appAccountToken == token)
        #expect(silent.joined(with: [old]).appAccountToken == token)
        var other = Statements.signed(at: 20)
        other.appAccountToken = UUID()
        for order in [[old, silent, other], [other, silent, old], [silent, old, other]] {
            #expect(order[0].joined(with: Array(order.dropFirst())).appAccountToken == other.appAccountToken)
        }
    }

    @Test func `a paid period ends when the newest signed transaction says, earlier or later`() {
        var early = Statements.signed(at: 10)
        early.expiresDate = Statements.time(1000)
        var extended = Statements.signed(at: 20)
        extended.expiresDate = Statements.time(2000)
        var shortened = Statements.signed(at: 30)
        shortened.expiresDate = Statements.time(1500)
        #expect(extended.joined(with: early).expiresDate == extended.expiresDate)
        #expect(early.joined(with: [shortened, extended]).expiresDate == shortened.expiresDate)
    }

    @Test func `a refund counts until Apple's server signs a newer one without it`() {
        let bought = Statements.signed(at: 10)
        let refunded = Statements.revoked(at: 20, percentage: 50_000)
        let reversed = Statements.signed(at: 30).fromServer
        let again = Statements.revoked(at: 40)
        #expect(refunded.joined(with: bought).revocationPercentage == 50_000)
        #expect(reversed.joined(with: [refunded, bought]).revocationDate == nil)
        #expect(again.joined(with: [refunded, reversed]).revocationPercentage == nil)
        #expect(again.joined(with: [refunded, reversed]).revocationDate == again.revocationDate)
    }

    @Test func `a receipt adds a newer refund, and ends none`() {
        let signed = Statements.signed(at: 10)
        var taken = Statements.receipt(signedAt: 20)
        taken.revocationDate = Statements.time(15)
        let joined = signed.joined(with: taken)
        #expect(joined.revocationDate == taken.revocationDate)
        #expect(joined.signedDate == signed.signedDate, "the signed transaction counts for everything else")
        #expect(joined.joined(with: Statements.receipt(signedAt: 90)).revocationDate == taken.revocationDate)
        #expect(joined.joined(with: Statements.signed(at: 19).fromServer).revocationDate == taken.revocationDate)
        #expect(joined.joined(with: Statements.signed(at: 21).fromServer).revocationDate == nil)
        #expect(Statements.signed(at: 21).fromServer.joined(with: taken).revocationDate == nil)
    }

    @Test func `a receipt that has a refund, too, does not make a part of it the whole`() {
        let part = Statements.revoked(at: 10, percentage: 40_000)
        var receipt = Statements.receipt(signedAt: 50)
        receipt.revocationDate = Statements.time(9)
        for joined in [part.joined(with: receipt), receipt.joined(with: part)] {
            #expect(joined.revocationPercentage == 40_000)
            #expect(joined.revocationType == "REFUND_PRORATED")
            #expect(joined.joined(with: Statements.signed(at: 60).fromServer).revocationDate == nil)
            // Given back, and taken again since: nobody has signed how much of it.
            let again = joined.joined(with: Statements.signed(at: 20).fromServer)
            #expect(again.revocationDate != nil && again.revocationPercentage == nil)
        }
    }

    @Test func `what an expired certificate signed says nothing beside what is vouched for, whatever its date`() {
        var old = Statements.revoked(at: 900)
        old.appAccountToken = token
        old.expiresDate = Statements.time(5_000)
        old.hasExpiredSigner = true
        for known in [Statements.signed(at: 10), receipt] {
            #expect(known.joined(with: old) == known)
            #expect(old.joined(with: known) == known)
            #expect(old.joined(with: [old, known, old]) == known)
        }
        let older = Statements.signed(at: 10).marked
        let both = older.joined(with: old)
        #expect(!both.isVouchedFor && both.revocationDate == old.revocationDate)
        #expect(both.joined(with: receipt) == receipt)
    }

    @Test("every order, any repetition and any grouping of random statements give the same", arguments: 0..<400)
    func random(seed: UInt64) throws {
        var generator = SplitMix(seed: seed)
        let set = (0..<Int.random(in: 2...5, using: &generator)).map { _ in Statements.random(using: &generator) }
        let expected = set[0].joined(with: Array(set.dropFirst()))
        for order in Statements.permutations(of: set) {
            try #require(order[0].joined(with: Array(order.dropFirst())) == expected, "\(order)")
        }
        for _ in 0..<20 {
            let many = (set + (0..<4).compactMap { _ in set.randomElement(using: &generator) })
                .shuffled(using: &generator)
            try #require(Statements.grouped(many, using: &generator) == expected, "\(many)")
        }
        for one in set + [expected] { try #require(expected.joined(with: one) == expected) }
    }

    @Test("what is kept as JSON between two joins loses nothing", arguments: 0..<100)
    func kept(seed: UInt64) throws {
        var generator = SplitMix(seed: seed)
        let set = (0..<4).map { _ in Statements.random(using: &generator) }
        let expected = set[0].joined(with: Array(set.dropFirst()))
        var kept = set[3]
        for statement in set.reversed() {
            let text = try JSONEncoder().encode(kept.joined(with: statement))
            kept = try JSONDecoder().decode(Transaction.self, from: text)
        }
        #expect(kept == expected)
    }
}

/// Statements about one transaction.
extension Transaction {
    /// The same as an expired certificate signed it.
    fileprivate var marked: Transaction {
        var statement = self
        statement.hasExpiredSigner = true
        return statement
    }
}

enum Statements {
    static func time(_ seconds: Double) -> Date { Date(timeIntervalSince1970: 1_700_000_000 + seconds) }

    static func receipt(signedAt seconds: Double) -> Transaction {
        Transaction(
            environment: .production, transactionId: "t1", originalTransactionId: "t1", bundleId: "com.example.game",
            productId: "gems.100", productType: .unstated, quantity: 1, purchaseDate: time(0),
            signedDate: time(seconds))
    }

    static func signed(at seconds: Double) -> Transaction {
        var transaction = receipt(signedAt: seconds)
        transaction.productType = .consumable
        transaction.ownership = "PURCHASED"
        transaction.priceMilliunits = 990
        transaction.currency = "EUR"
        transaction.evidence = "signed at \(seconds)"
        return transaction
    }

    static func revoked(at seconds: Double, percentage: Int64? = nil) -> Transaction {
        var transaction = signed(at: seconds)
        transaction.revocationDate = time(seconds - 1)
        transaction.revocationReason = 0
        transaction.revocationType = percentage == nil ? "REFUND_FULL" : "REFUND_PRORATED"
        transaction.revocationPercentage = percentage
        return transaction
    }

    /// Few values for each part, so that dates tie and parts contradict each other, as Apple never would.
    static func random(using generator: inout SplitMix) -> Transaction {
        func pick<Value>(_ values: [Value?]) -> Value? { values.randomElement(using: &generator) ?? nil }
        func number(_ range: ClosedRange<Int>) -> Double { Double(Int.random(in: range, using: &generator)) }
        var transaction =
            Bool.random(using: &generator) ? signed(at: number(1...4)) : receipt(signedAt: number(1...4))
        let isSigned = transaction.ownership != nil
        if !isSigned, Int.random(in: 0..<3, using: &generator) == 0 { transaction.productType = .consumable }
        transaction.quantity = Int.random(in: 1...2, using: &generator)
        transaction.appAccountToken = pick([nil, tokens[0], tokens[1], tokens[2]])
        transaction.expiresDate = pick([nil, time(10), time(20)])
        transaction.storefront = pick([nil, "DEU", "USA"])
        transaction.hasExpiredSigner = pick([nil, nil, true])
        transaction.isUpgraded = pick([nil, true, false])
        transaction.evidence = pick([nil, "a", "b"])
        transaction.commitment = pick([nil, Transaction.Commitment(billingPeriod: 1)])
        transaction.testPurchase = pick([nil, .sandbox, .appReview])
        if isSigned { transaction.priceMilliunits = pick([nil, 990, 1990]) }
        if let offer = pick([nil, 1, 2]) {
            transaction.offerType = offer
            transaction.offerIdentifier = pick([nil, "spring"])
        }
        if Bool.random(using: &generator) {
            transaction.revocationDate = time(number(1...3))
            transaction.revocationPercentage = pick([nil, 50_000])
        }
        transaction.bundleField = pick([nil, "bundleTransactionId"])
        if isSigned {
            transaction.productType = pick([.consumable, .nonRenewing, ProductType(rawValue: "New")]) ?? .consumable
        }
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: return transaction.fromServer
        case 1: return transaction.countingWithoutRevocation(after: number(1...2))
        default: return transaction
        }
    }

    private static let tokens = [UUID(), UUID(), UUID()]

    static func permutations<Element>(of list: [Element]) -> [[Element]] {
        guard list.count > 1 else { return [list] }
        return list.indices.flatMap { index in
            var rest = list
            let first = rest.remove(at: index)
            return permutations(of: rest).map { [first] + $0 }
        }
    }

    /// Joins neighbours at random until one is left.
    static func grouped(
        _ statements: [Transaction], using generator: inout SplitMix
    ) -> Transaction {
        var list = statements
        while list.count > 1 {
            let index = Int.random(in: 0..<(list.count - 1), using: &generator)
            list[index] = list[index].joined(with: list.remove(at: index + 1))
        }
        return list[0]
    }
}
