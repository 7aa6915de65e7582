import Testing

@testable import AppStoreSimulator

/// What a load does is decided by its seed, and in the amounts that were asked for.
@Suite struct LoadPlanTests {
    private let settings = LoadPlan.Settings(
        count: 1000, accounts: 7, duplicateShare: 0.3, forgeryShare: 0.02, seed: 42)

    @Test func sameSeedIsSamePlan() {
        #expect(LoadPlan(settings) == LoadPlan(settings))
    }

    @Test func anotherSeedIsAnotherPlan() {
        var other = settings
        other.seed = 43
        #expect(LoadPlan(settings) != LoadPlan(other))
    }

    @Test func everythingComesInTheAmountsAskedFor() {
        let plan = LoadPlan(settings)
        var posted: [Int] = []
        var again: [Int] = []
        var atOnce = 0
        var forged: [Int] = []
        for step in plan.steps {
            switch step {
            case .post(let purchase, let copies):
                posted.append(purchase)
                atOnce += copies - 1
            case .postAgain(let purchase): again.append(purchase)
            case .forge(let forgery): forged.append(forgery)
            }
        }
        #expect(posted.sorted() == Array(0..<1000), "every purchase once")
        #expect(atOnce == 150 && again.count == 150, "half of the duplicates at the same moment")
        #expect(forged.sorted() == Array(0..<20))
        #expect(Set(plan.buyers) == Set((1...7).map { "player-\($0)" }))
    }

    @Test func postingAgainComesAfterTheFirstTimeAndNotLongAfter() {
        let plan = LoadPlan(settings)
        var begun: Set<Int> = []
        for step in plan.steps {
            switch step {
            case .post(let purchase, let copies):
                begun.insert(purchase)
                #expect(copies == 1 || copies == 2)
            case .postAgain(let purchase):
                #expect(begun.contains(purchase))
                #expect(begun.count - purchase <= LoadPlan.repeatDistanceMaximum + 1)
            case .forge: break
            }
        }
    }

    @Test func kindsOfProofComeInTurn() throws {
        let kinds = try #require(LoadProofKinds(argument: "signed_transaction,receipt,signed_transaction"))
        var mixed = settings
        mixed.proofs = kinds.kinds
        let plan = LoadPlan(mixed)
        #expect(plan.proofs.count == 1000)
        #expect(plan.proofs.prefix(4) == [.signedTransaction, .receipt, .signedTransaction, .signedTransaction])
        #expect(plan.proofs.count { $0 == .receipt } == 333)
        #expect(plan.steps == LoadPlan(settings).steps, "the same seed is the same order")
    }

    @Test(arguments: ["", ",", "receipt,", "receipts", "receipt, transaction_id", "Receipt"])
    func otherKindsAreRefused(argument: String) {
        #expect(LoadProofKinds(argument: argument) == nil)
    }

    @Test func eachKindIsNamedAsItsField() throws {
        func fields(_ kind: LoadProofKind, _ content: String?) -> [String: String] {
            LoadProof(kind: kind, transactionId: "1", originalTransactionId: "1", content: content).fields
        }
        #expect(fields(.signedTransaction, "a.b.c") == ["signed_transaction": "a.b.c"])
        #expect(fields(.receipt, "MIIB") == ["receipt": "MIIB", "transaction_id": "1"])
        #expect(fields(.transactionId, nil) == ["transaction_id": "1"])
        let all = try #require(LoadProofKinds(argument: LoadProofKind.allCases.map(\.rawValue).joined(separator: ",")))
        #expect(all.kinds == LoadProofKind.allCases)
        #expect(all.defaultValueDescription == "signed_transaction,receipt,transaction_id")
    }

    @Test(arguments: [(1.0, 100, 50), (0.0, 0, 0), (0.01, 1, 1), (0.03, 3, 2)])
    func sharesAreRoundedToWholePurchases(share: Double, duplicates: Int, atOnce: Int) {
        let plan = LoadPlan(
            LoadPlan.Settings(count: 100, accounts: 1, duplicateShare: share, forgeryShare: 0, seed: 1))
        let copies = plan.steps.count { step in
            if case .post(_, copies: 2) = step { true } else { false }
        }
        #expect(copies == atOnce)
        #expect(plan.steps.count == 100 + duplicates - atOnce)
    }
}
