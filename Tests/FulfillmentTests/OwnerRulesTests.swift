import Foundation
import Messages
import Persistence
import PurchaseModel
import Testing

@testable import Fulfillment

/// The rules of `LineageOwner`, without a database.
@Suite("Rules of owners")
struct OwnerRulesTests {
    private static let tokens: [(token: UUID, account: String)] = ["anna", "ben", "cleo"].map { (UUID(), $0) }

    private static var registered: [AppToken: String] {
        Dictionary(
            tokens.map { (AppToken(app: Bench.app, token: $0.token), $0.account) }, uniquingKeysWith: { $1 })
    }

    private func lineage() -> LineageOwner {
        LineageOwner(
            LineageStore.Lineage(
                key: LineageKey(environment: .production, originalTransactionId: "v1"), app: Bench.app))
    }

    private func hear(
        _ owner: inout LineageOwner, _ statements: [PurchasedTransaction], claim: String? = nil, as id: String = "s",
        rule: RestoreRule = .keep
    ) {
        let word = LineageWord(
            statements: statements, claim: claim.map { .possession(account: $0, submissionId: id, of: statements) },
            submissionId: id, correlationId: "req_\(id)")
        owner.hear(word, tokens: Self.registered, now: Bench.day(15)) { _ in rule }
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
                hear(&owner, Array(rest.prefix(count)))
                rest.removeFirst(count)
            }
            #expect(owner.lineage.account == "cleo" && owner.lineage.cause == .token)
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
            for statements in words { hear(&owner, statements) }
            #expect(owner.lineage.account == tokens[1].account)
        }
    }

    @Test func `a token of nobody is a doubt of its transaction, not of the lineage`() {
        var owner = lineage()
        let doubtful = Bench.season(2, token: UUID())
        hear(&owner, [doubtful], claim: "anna")
        #expect(owner.lineage.account == nil && owner.claims.isEmpty)
        #expect(owner.owner(of: doubtful) == .tokenUnknown)
        #expect(owner.owner(of: Bench.season(1)) == .unclaimed)
        hear(&owner, [Bench.season(1)], claim: "anna")
        #expect(owner.owner(of: Bench.season(3)) == .account("anna"))
        #expect(owner.owner(of: doubtful) == .tokenUnknown)
    }

    @Test func `a submission is heard once, unless it was refused`() {
        var owner = lineage()
        let pass = [Bench.season(1)]
        let transfer = RestoreRule(policy: .transfer)
        hear(&owner, pass, claim: "anna", as: "s1", rule: transfer)
        hear(&owner, pass, claim: "ben", as: "s2")
        #expect(owner.claims.map(\.refused) == [nil, .belongsToAnotherAccount])
        hear(&owner, pass, claim: "ben", as: "s2", rule: transfer)
        hear(&owner, pass, claim: "anna", as: "s1", rule: transfer)
        hear(&owner, pass, claim: "ben", as: "s2", rule: transfer)
        #expect(owner.lineage.account == "ben")
        #expect(owner.changes.map(\.binding.cause) == [.possession, .transfer])
    }

    @Test func `two accounts that claim one lineage are in two commits, and consumables never are`() {
        func verdict(_ account: String, _ transactions: PurchasedTransaction...) -> VerdictMessage {
            VerdictMessage(
                submissionId: account, app: Bench.app, account: account, correlationId: "", attempt: 0,
                verdict: .genuine(transactions))
        }
        let verdicts = [
            verdict("anna", Bench.season(1), Bench.signed("g")), verdict("ben", Bench.signed("g")),
            verdict("", Bench.season(1)), verdict("anna", Bench.season(2)), verdict("ben", Bench.season(3)),
            verdict("ben", Bench.season(1)),
        ]
        let parts = SettleVerdicts.cut(verdicts, transactionsMaximum: 100)
        #expect(parts.map { $0.map(\.account) } == [["anna", "ben", "", "anna"], ["ben", "ben"]])
    }
}
