import Testing

@testable import Pacing

@Suite("The budget", .timeLimit(.minutes(1)))
struct RateBudgetTests {
    private let time = ManualTime()

    /// Ten a second, and nothing left of the beginning.
    private func emptied(waitersMaximum: Int = 10_000) async -> RateBudget {
        let budget = RateBudget(
            limit: .init(perSecond: 10, burst: 10), waitersMaximum: waitersMaximum, share: 1, time: time.source)
        for _ in 0..<10 { _ = await budget.acquire(.player, patience: .zero) }
        return budget
    }

    private func waiting(_ budget: RateBudget) -> Int {
        budget.statistics.waiting.values.reduce(0, +)
    }

    /// Starts tasks that ask one after the other and write down when they were admitted.
    private func start(
        _ priorities: [Priority], _ budget: RateBudget, patience: Duration = .seconds(60), _ notes: Notes<Int>
    ) async -> [Task<RateBudget.Admission, Never>] {
        var tasks: [Task<RateBudget.Admission, Never>] = []
        let before = waiting(budget)
        for (number, priority) in priorities.enumerated() {
            tasks.append(
                Task {
                    let admission = await budget.acquire(priority, patience: patience)
                    if admission == .admitted { notes.add(number) }
                    return admission
                })
            await until { waiting(budget) == before + number + 1 }
        }
        return tasks
    }

    /// Lets time pass until the next sleep ends.
    private func passToNextEvent() async {
        await until { time.sleepers > 0 }
        time.advance(by: time.nextEnd ?? .zero)
    }

    @Test("waiters are woken one by one, in the order of priority and then of coming")
    func order() async {
        let budget = await emptied()
        let notes = Notes<Int>()
        let tasks = await start([.sweep, .player, .deadline, .sweep, .player], budget, notes)
        #expect(budget.statistics.waiting == [.player: 2, .deadline: 1, .sweep: 2])
        for count in 1...5 {
            await passToNextEvent()
            await until { notes.all.count == count }
        }
        for task in tasks { #expect(await task.value == .admitted) }
        #expect(notes.all == [1, 4, 2, 0, 3])
        #expect(time.start.duration(to: time.now) == .milliseconds(500))
    }

    @Test("whoever cannot have its turn in time is refused without waiting, and no timer is set")
    func refusedAtOnce() async {
        let budget = await emptied()
        #expect(await budget.acquire(.player, patience: .milliseconds(99)) == .refused(retryAfter: .milliseconds(100)))
        #expect(!budget.hasTimer && time.sleepers == 0)
    }

    @Test("a waiter whom players push back is refused at the end of its patience")
    func pushedBack() async {
        let budget = await emptied()
        let notes = Notes<Int>()
        let sweep = await start([.sweep], budget, patience: .milliseconds(150), notes)[0]
        let players = await start([.player, .player], budget, notes)
        await passToNextEvent()
        await until { notes.all.count == 1 }
        await passToNextEvent()
        #expect(await sweep.value == .refused(retryAfter: .milliseconds(150)))
        await passToNextEvent()
        for player in players { #expect(await player.value == .admitted) }
    }

    @Test("when nobody waits any more, nothing sleeps, and the budget can go")
    func noTimerLeft() async {
        var budget: RateBudget? = await emptied()
        weak let remaining = budget
        let notes = Notes<Int>()
        if let budget {
            let tasks = await start([.sweep, .player], budget, notes)
            await until { time.sleepers == 1 }
            for task in tasks { task.cancel() }
            for task in tasks {
                guard case .refused = await task.value else {
                    Issue.record("a cancelled waiter was admitted")
                    return
                }
            }
            #expect(!budget.hasTimer && waiting(budget) == 0)
        }
        await until { time.sleepers == 0 }
        budget = nil
        await until { remaining == nil }
        #expect(remaining == nil && notes.all.isEmpty)
    }

    @Test("one timer serves all waiters")
    func oneTimer() async {
        let budget = await emptied()
        let notes = Notes<Int>()
        let tasks = await start([Priority](repeating: .sweep, count: 50), budget, notes)
        await until { time.sleepers == 1 }
        #expect(time.nextEnd == .milliseconds(100))
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.value }
        await until { time.sleepers == 0 }
        #expect(time.sleepers == 0)
    }

    @Test("a cancelled waiter leaves its token to the others")
    func cancelled() async {
        let budget = await emptied()
        let notes = Notes<Int>()
        let tasks = await start([.player, .player, .player], budget, notes)
        tasks[0].cancel()
        _ = await tasks[0].value
        await passToNextEvent()
        #expect(await tasks[1].value == .admitted)
        await passToNextEvent()
        #expect(await tasks[2].value == .admitted)
        #expect(time.start.duration(to: time.now) == .milliseconds(200))
    }

    @Test("a task that is cancelled already gets nothing and costs nothing")
    func cancelledBefore() async {
        let budget = RateBudget(limit: .init(perSecond: 1, burst: 1), waitersMaximum: 10, share: 1, time: time.source)
        let gate = Gate()
        let task = Task {
            await gate.wait()
            return await budget.acquire(.player, patience: .seconds(1))
        }
        task.cancel()
        gate.open()
        guard case .refused = await task.value else {
            Issue.record("a cancelled task was admitted")
            return
        }
        #expect(await budget.acquire(.player, patience: .zero) == .admitted)
    }

    @Test("cancelled and admitted at the same moment, no token is lost and none is spent twice", arguments: 1...20)
    func cancelledMeanwhile(round: Int) async {
        let budget = RateBudget(
            limit: .init(perSecond: 10, burst: 10), waitersMaximum: 1_000, share: 1, time: time.source)
        let tasks = (0..<100).map { number in
            Task { await budget.acquire(number % 2 == 0 ? .player : .sweep, patience: .seconds(60)) }
        }
        await withTaskGroup(of: Void.self) { group in
            for task in tasks.shuffled().prefix(60) { group.addTask { task.cancel() } }
            for _ in 0..<10 { group.addTask { self.time.advance(by: .milliseconds(100)) } }
        }
        // What is left then is served at its pace.
        let ending = Task {
            while !Task.isCancelled {
                if time.sleepers > 0 { time.advance(by: time.nextEnd ?? .zero) }
                await Task.yield()
            }
        }
        var admitted = 0
        for task in tasks where await task.value == .admitted { admitted += 1 }
        ending.cancel()
        await ending.value
        // The forty that nobody cancelled were all admitted in the end; and no more than the bucket gave.
        let seconds = time.start.duration(to: time.now).inSeconds
        #expect(admitted >= 40)
        #expect(Double(admitted) <= 10 + seconds * 10 + 0.001)
        #expect(waiting(budget) == 0)
        await until { !budget.hasTimer }
    }

    @Test("a 429 holds for waiters, too; who cannot wait for its end is refused at once")
    func closure() async {
        let budget = await emptied()
        let notes = Notes<Int>()
        let patient = await start([.player], budget, patience: .seconds(30), notes)[0]
        let impatient = await start([.player], budget, patience: .seconds(5), notes)[0]
        budget.close(for: .seconds(10))
        budget.close(for: .seconds(1))
        #expect(await impatient.value == .refused(retryAfter: .milliseconds(10_100)))
        #expect(budget.statistics.closedFor == .seconds(10))
        // The timer that was set before wakes too early, and finds nothing to do.
        while time.start.duration(to: time.now) < .seconds(10) {
            #expect(notes.all.isEmpty)
            await passToNextEvent()
            await until { time.sleepers == 1 || !notes.all.isEmpty }
        }
        #expect(await patient.value == .admitted)
        #expect(time.start.duration(to: time.now) == .seconds(10))
        #expect(budget.statistics.closedFor == nil)
    }

    @Test("a new share wakes waiters earlier, and none lets them wait")
    func shares() async {
        let budget = await emptied()
        budget.setShare(0.1)
        let notes = Notes<Int>()
        let tasks = await start([.player, .player], budget, notes)
        await until { time.nextEnd == .seconds(1) }
        budget.setShare(1)
        await until { time.nextEnd == .milliseconds(100) }
        budget.setShare(0)
        guard case .refused(let after) = await budget.acquire(.player, patience: .seconds(60)) else {
            Issue.record("admitted without a share")
            return
        }
        #expect(after == RateLedger.Limit.retryAfterWithoutShare)
        time.advance(by: .seconds(30))
        await until { time.nextEnd == .seconds(30) }
        #expect(notes.all.isEmpty)
        budget.setShare(1)
        await until { time.nextEnd == .milliseconds(100) }
        await passToNextEvent()
        #expect(await tasks[0].value == .admitted)
        await passToNextEvent()
        #expect(await tasks[1].value == .admitted)
    }

    @Test("beyond the maximum of waiters one is refused; a player takes the place of a sweep")
    func full() async {
        let budget = await emptied(waitersMaximum: 2)
        let notes = Notes<Int>()
        let sweeps = await start([.sweep, .sweep], budget, notes)
        #expect(await budget.acquire(.sweep, patience: .seconds(60)) == .refused(retryAfter: .milliseconds(300)))
        let player = Task { await budget.acquire(.player, patience: .seconds(60)) }
        #expect(await sweeps[1].value == .refused(retryAfter: .milliseconds(400)))
        await passToNextEvent()
        #expect(await player.value == .admitted)
        await passToNextEvent()
        #expect(await sweeps[0].value == .admitted)
    }

    @Test("ten thousand waiters are all served, with the machine's clock")
    func manyWaiters() async {
        let budget = RateBudget(limit: .init(perSecond: 20_000, burst: 100))
        let admitted = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<10_000 {
                group.addTask {
                    await budget.acquire(Priority.allCases[number % 3], patience: .seconds(30)) == .admitted
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(admitted == 10_000)
        #expect(waiting(budget) == 0)
        await until { !budget.hasTimer }
        #expect(!budget.hasTimer)
    }
}

@Suite("The budgets", .timeLimit(.minutes(1)))
struct RateBudgetsTests {
    private let time = ManualTime()

    @Test("a key has one budget, with its own limit, whoever asks")
    func keys() async {
        let budgets = RateBudgets<String>(budgetsMaximum: 10, time: time.source) { key in
            .init(perSecond: key == "a" ? 3 : 1, burst: 3)
        }
        #expect(budgets.budget(for: "a") === budgets.budget(for: "a"))
        #expect(budgets.budget(for: "a") !== budgets.budget(for: "b"))
        for _ in 0..<3 { #expect(await budgets.budget(for: "a").acquire(.player, patience: .zero) == .admitted) }
        #expect(await budgets.budget(for: "a").acquire(.player, patience: .zero) != .admitted)
        #expect(await budgets.budget(for: "b").acquire(.player, patience: .zero) == .admitted)
        #expect(budgets.count == 2)
    }

    @Test("many tasks that ask for a new key at once get the same budget")
    func oneForAll() async {
        let budgets = RateBudgets<Int>(time: .continuous)
        let identities = await withTaskGroup(of: [ObjectIdentifier].self) { group in
            for _ in 0..<50 { group.addTask { (0..<20).map { ObjectIdentifier(budgets.budget(for: $0)) } } }
            return await group.reduce(into: Set<[ObjectIdentifier]>()) { $0.insert($1) }
        }
        #expect(identities.count == 1)
    }

    @Test("the share holds for all budgets, also for those that are made later")
    func shares() {
        let budgets = RateBudgets<String>(budgetsMaximum: 10, time: time.source) { _ in .init(perSecond: 40, burst: 40)
        }
        let early = budgets.budget(for: "early")
        budgets.setShare(0.5)
        #expect(early.statistics.tokens == 20)
        #expect(budgets.budget(for: "late").statistics.tokens == 20)
        budgets.setShare(0.25)
        #expect(early.statistics.tokens == 10)
        #expect(budgets.budget(for: "late").statistics.tokens == 10)
    }

    @Test("the statistics tell of every budget")
    func statistics() async {
        let budgets = RateBudgets<String>(budgetsMaximum: 10, time: time.source) { _ in .init(perSecond: 4, burst: 4) }
        #expect(budgets.statistics.isEmpty)
        #expect(await budgets.budget(for: "a").acquire(.player, patience: .zero) == .admitted)
        budgets.budget(for: "b").close(for: .seconds(9))
        #expect(budgets.statistics["a"]?.tokens == 3)
        #expect(budgets.statistics["b"]?.closedFor == .seconds(9))
        #expect(budgets.statistics.count == 2)
    }

    @Test("beyond the maximum the budget that rested longest makes room; one that is used never does")
    func forgetting() async {
        let budgets = RateBudgets<String>(budgetsMaximum: 2, time: time.source) { _ in .init(perSecond: 1, burst: 1) }
        let (first, second) = (budgets.budget(for: "first"), budgets.budget(for: "second"))
        _ = await first.acquire(.player, patience: .zero)
        let third = budgets.budget(for: "third")
        #expect(budgets.count == 2)
        #expect(budgets.budget(for: "first") === first)
        #expect(budgets.budget(for: "third") === third)
        // Now both are used, one closed: there is no room.
        third.close(for: .seconds(60))
        let none = budgets.budget(for: "second")
        #expect(none !== second)
        guard case .refused(let after) = await none.acquire(.player, patience: .seconds(60)) else {
            Issue.record("admitted beyond the maximum")
            return
        }
        #expect(after > .zero && budgets.count == 2)
        // Later the first one is full again.
        time.advance(by: .seconds(1))
        #expect(await budgets.budget(for: "second").acquire(.player, patience: .zero) == .admitted)
        #expect(budgets.count == 2)
    }
}

extension RateBudgets {
    /// With a limit that does not matter.
    fileprivate convenience init(time: TimeSource) {
        self.init(budgetsMaximum: 1_000, time: time) { _ in .init(perSecond: 1, burst: 1) }
    }
}
