import Testing

@testable import CountersignTool

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
