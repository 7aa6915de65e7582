import Foundation
import Messages
import Persistence
import PurchaseModel
import Testing

@testable import Fulfillment

/// The rules of `Ownership`, without a database.
@Suite("Rules of owners")
struct OwnerRulesTests {
    private static let tokens: [(token: UUID, account: Account)] = ["anna", "ben", "cleo"].map {
        (UUID(), Account(stored: $0))
    }

    private static var registered: [AppToken: Account] {
        Dictionary(
            tokens.map { (AppToken(app: Bench.app, token: $0.token), $0.account) }, uniquingKeysWith: { $1 })
    }

    private func lineage(rule: RestoreRule = .keep) -> Ownership {
        let key = LineageKey(environment: .production, originalTransactionId: "v1")
        return Ownership(Lineage(key: key, app: Bench.app)) { _ in rule }
    }

    private func statement(_ transaction: Transaction, isClaimed: Bool = false) -> LineageEvidence.Statement {
        LineageEvidence.Statement(transaction: transaction, order: nil, isClaimed: isClaimed)
    }

    private func apply(
        _ transactions: [Transaction], to ownership: inout Ownership, claim: String? = nil, as id: String = "s"
    ) {
        let evidence = LineageEvidence(
            statements: transactions.map { statement($0, isClaimed: claim != nil) },
            evidence: claim.map { .possession(Account(stored: $0)) }, submissionId: id, correlationId: "req_\(id)")
        ownership.apply(evidence, tokens: Self.registered, now: Bench.day(15))
    }

    @Test func `tokens lead to the same owner in every order, in one word or in many`() {
        var statements = Self.tokens.enumerated().map { Bench.season($0 + 1, token: $1.token) }
        // The oldest purchase, signed last; one without a token; one with a token of nobody.
        statements.append(Bench.season(1, token: Self.tokens[0].token, signed: 300))
        statements.append(Bench.season(4))
        statements.append(Bench.season(5, token: UUID()))
        for _ in 0..<200 {
            var owner = lineage()
            var rest = statements.shuffled() + statements.shuffled()
            while !rest.isEmpty {
                let count = Int.random(in: 1...min(3, rest.count))
                apply(Array(rest.prefix(count)), to: &owner)
                rest.removeFirst(count)
            }
            #expect(owner.lineage.owner == Self.tokens[2].account && owner.lineage.cause == .token)
            #expect(owner.lineage.token == Self.tokens[2].token)
        }
    }

    @Test func `of equal dates the greater token counts, in one word or in two, whatever the order`() {
        let tokens = Self.tokens.sorted { $0.token.uuidString < $1.token.uuidString }
        let early = Bench.season(1, token: tokens[0].token)
        var late = Bench.season(2, token: tokens[1].token)
        late.purchaseDate = early.purchaseDate
        late.signedDate = early.signedDate
        for words in [[[early, late]], [[late, early]], [[early], [late]], [[late], [early]]] {
            var owner = lineage()
            for statements in words { apply(statements, to: &owner) }
            #expect(owner.lineage.owner == tokens[1].account)
        }
    }

    @Test func `a token of nobody is a doubt of its transaction, not of the lineage`() {
        var owner = lineage()
        let doubtful = Bench.season(2, token: UUID())
        apply([doubtful], to: &owner, claim: "anna")
        #expect(owner.lineage.owner == nil && owner.claims.isEmpty)
        #expect(owner.owner(of: statement(doubtful)) == .tokenUnknown)
        #expect(owner.owner(of: statement(Bench.season(1))) == .unclaimed)
        apply([Bench.season(1)], to: &owner, claim: "anna")
        #expect(owner.owner(of: statement(Bench.season(3))) == .account(Self.tokens[0].account))
        #expect(owner.owner(of: statement(doubtful)) == .tokenUnknown)
    }

    @Test func `a proof is heard once for an account, unless it was refused`() {
        var owner = lineage(rule: RestoreRule(policy: .transfer))
        var later = Bench.season(1)
        later.signedDate += 60
        apply([Bench.season(1)], to: &owner, claim: "anna", as: "s1")
        // Signed before anna's: a former owner may have kept it.
        apply([Bench.season(1)], to: &owner, claim: "ben", as: "s2")
        #expect(owner.claims.map(\.refused) == [nil, .belongsToAnotherAccount])
        apply([later], to: &owner, claim: "ben", as: "s3")
        apply([Bench.season(1)], to: &owner, claim: "anna", as: "s4")
        apply([later], to: &owner, claim: "ben", as: "s5")
        // Spelled in another way, it is another submission, and the same proof.
        apply([later], to: &owner, claim: "anna", as: "s6")
        #expect(owner.lineage.owner == Self.tokens[1].account)
        #expect(owner.changes.map(\.binding.cause) == [.possession, .transfer])
    }

    @Test func `two accounts that claim one lineage are in two commits, and consumables never are`() {
        func verdict(_ account: String, _ transactions: Transaction...) -> VerdictMessage {
            VerdictMessage(
                submissionId: account, app: Bench.app, account: account, correlationId: "", attempt: 0,
                verdict: .genuine(transactions))
        }
        let verdicts = [
            verdict("anna", Bench.season(1), Bench.signed("g")), verdict("ben", Bench.signed("g")),
            verdict("", Bench.season(1)), verdict("anna", Bench.season(2)), verdict("ben", Bench.season(3)),
            verdict("ben", Bench.season(1)),
        ]
        let parts = FulfillVerdicts.commits(of: verdicts, transactionsMaximum: 100)
        #expect(parts.map { $0.map(\.account) } == [["anna", "ben", "", "anna"], ["ben", "ben"]])
    }
}
