import Synchronization

/// Carries a plan out: posts at the wished rate, tries again what failed, then waits for the outcomes.
///
/// It tries again as StoreKit would, since it is meant to go on while the services are killed and started.
struct LoadRunner: Sendable {
    /// The pauses between attempts double from here.
    private static let retryDelayMinimum = Duration.milliseconds(100)
    /// They double up to here.
    private static let retryDelayMaximum = Duration.seconds(5)
    /// The longest that one question for an outcome waits, in seconds.
    private static let pollWaitMaximum = 20
    /// The least time between two questions for the same outcome.
    private static let pollInterval = Duration.milliseconds(500)

    let plan: LoadPlan
    /// What is posted for the purchases and for the forgeries.
    let proofs: [LoadProof]
    let forgedProofs: [LoadProof]
    let intake: IntakeClient
    let records: LoadRecords
    /// Steps begun a second; nil for as many as go.
    let rate: Double?
    let concurrency: Int
    /// How long a post waits for the outcome, in seconds.
    let wait: Int
    /// How long one purchase is tried.
    let timeout: Duration

    /// Posts everything.
    func post() async {
        let start = ContinuousClock.now
        await inParallel(plan.steps.count) { index in
            if let rate {
                try? await Task.sleep(until: start + .seconds(Double(index) / rate), clock: .continuous)
            }
            await perform(plan.steps[index])
            records.noteStep()
        }
    }

    /// Asks for what has no outcome until all have, or the time is up.
    func settle(within time: Duration) async {
        let deadline = ContinuousClock.now + time
        var open: [@Sendable () async -> Void] = []
        for (index, purchase) in records.purchases.enumerated() {
            guard let id = purchase.submissionId, !purchase.isSettled else { continue }
            open.append {
                await awaitOutcome(of: id, account: purchase.account, until: deadline) { reply in
                    note(reply, of: index)
                }
            }
        }
        for (index, forgery) in records.forgeries.enumerated() {
            guard let id = forgery.submissionId, forgery.state == "received" else { continue }
            open.append {
                await awaitOutcome(of: id, account: forgery.account, until: deadline) { reply in
                    records.update(forgery: index) { $0.note(reply) }
                }
            }
        }
        let questions = open
        await inParallel(questions.count) { await questions[$0]() }
    }

    /// Runs the body for 0, 1, … with at most `concurrency` at a time, begun in order.
    private func inParallel(_ count: Int, _ body: @Sendable @escaping (Int) async -> Void) async {
        let counter = StepCounter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<min(concurrency, count) {
                group.addTask {
                    while true {
                        let index = counter.take()
                        guard index < count, !Task.isCancelled else { return }
                        await body(index)
                    }
                }
            }
        }
    }

    private func perform(_ step: LoadPlan.Step) async {
        switch step {
        case .post(let purchase, let copies):
            records.begin(purchase)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<copies { group.addTask { await postPurchase(purchase) } }
            }
        case .postAgain(let purchase):
            records.begin(purchase)
            await postPurchase(purchase)
        case .forge(let forgery):
            await postForgery(forgery)
        }
    }

    private func postPurchase(_ index: Int) async {
        let reply = await persistently {
            await intake.post(proofs[index], account: plan.buyers[index], wait: wait)
        }
        note(reply, of: index)
    }

    private func postForgery(_ index: Int) async {
        let reply = await persistently {
            await intake.post(forgedProofs[index], account: plan.forgers[index], wait: wait)
        }
        records.update(forgery: index) { $0.note(reply) }
    }

    private func note(_ reply: IntakeClient.Reply, of purchase: Int) {
        switch reply {
        case .purchase(let answer): records.update(purchase, with: answer)
        case .tryAgain(_, _, let problem), .refused(_, let problem, _): records.fail(purchase, problem: problem)
        }
    }

    /// Sends until there is an answer that decides something, or the time of one purchase is up.
    private func persistently(_ send: () async -> IntakeClient.Reply) async -> IntakeClient.Reply {
        let deadline = ContinuousClock.now + timeout
        var delay = Self.retryDelayMinimum
        while true {
            let reply = await send()
            records.note(reply)
            guard case .tryAgain(_, let after, _) = reply else { return reply }
            // Jitter, or everything that one outage broke comes back at the same moment.
            let pause = after ?? delay * Double.random(in: 0.5...1.5)
            guard ContinuousClock.now + pause < deadline, !Task.isCancelled else { return reply }
            try? await Task.sleep(for: pause)
            delay = min(delay * 2, Self.retryDelayMaximum)
            records.noteRetry()
        }
    }

    private func awaitOutcome(
        of id: String, account: String, until deadline: ContinuousClock.Instant, note: (IntakeClient.Reply) -> Void
    ) async {
        var nextTime = ContinuousClock.now
        while ContinuousClock.now < deadline, !Task.isCancelled {
            // Where intake answers at once, for want of room or because it stops, this keeps the questions apart.
            try? await Task.sleep(until: nextTime, clock: .continuous)
            nextTime = ContinuousClock.now + Self.pollInterval
            let left = ContinuousClock.now.duration(to: deadline).components.seconds
            let reply = await intake.fetch(id, account: account, wait: min(Self.pollWaitMaximum, max(1, Int(left))))
            records.note(reply)
            note(reply)
            if case .purchase(let purchase) = reply, purchase.isSettled { return }
        }
    }
}

extension LoadReport.Forgery {
    /// Takes over what intake said.
    mutating func note(_ reply: IntakeClient.Reply) {
        switch reply {
        case .purchase(let purchase): (submissionId, state, reason) = (purchase.id, purchase.state, purchase.reason)
        case .refused(_, let problem, let slug): (state, self.problem, problemSlug) = ("rejected", problem, slug)
        case .tryAgain(_, _, let problem): self.problem = problem
        }
    }
}

/// Hands out 0, 1, 2, … to many tasks, each number once.
private final class StepCounter: Sendable {
    private let next = Atomic(0)

    func take() -> Int {
        next.wrappingAdd(1, ordering: .relaxed).oldValue
    }
}
