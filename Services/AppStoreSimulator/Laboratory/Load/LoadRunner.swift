import Synchronization

/// Carries a plan out: posts at the wished rate, tries again what failed, and has the outcomes asked for meanwhile.
///
/// It tries again as StoreKit would, since it is meant to go on while the services are killed and started.
struct LoadRunner: Sendable {
    /// The pauses between attempts double from here.
    private static let retryDelayMinimum = Duration.milliseconds(100)
    /// They double up to here.
    private static let retryDelayMaximum = Duration.seconds(5)

    let plan: LoadPlan
    /// What is posted for the purchases and for the forgeries.
    let proofs: [LoadProof]
    let forgedProofs: [LoadProof]
    let intake: any LoadIntake
    let records: LoadRecords
    /// Learns the outcomes that posts are not answered with; nil where nobody asks for them.
    let questions: OutcomeQuestions?
    /// Steps begun a second; nil for as many as go.
    let rate: Double?
    let concurrency: Int
    /// How long a post waits for the outcome, in seconds.
    let wait: Int
    /// How long one purchase is tried.
    let timeout: Duration

    /// A part of the run.
    enum Phase: Sendable {
        /// Everything is posted, and asked for.
        case posting
        /// Everything was posted, and what has no outcome is still asked for.
        case settling
    }

    /// Posts everything, and asks for the outcomes until all are known or their time is up.
    ///
    /// - Parameter during: is handed each phase in turn, and carries it out once.
    func run(_ during: (Phase, () async -> Void) async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            if let questions { group.addTask { await questions.run() } }
            await during(.posting) { await post() }
            guard let questions else { return }
            questions.postingIsOver()
            await during(.settling) { await group.waitForAll() }
        }
    }

    private func post() async {
        let start = ContinuousClock.now
        await inParallel(plan.steps.count) { index in
            if let rate {
                try? await Task.sleep(until: start + .seconds(Double(index) / rate), clock: .continuous)
            }
            await perform(plan.steps[index])
            records.noteStep()
        }
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
        await post(proofs[index], as: .purchase(index), account: plan.buyers[index])
    }

    private func postForgery(_ index: Int) async {
        await post(forgedProofs[index], as: .forgery(index), account: plan.forgers[index])
    }

    private func post(_ proof: LoadProof, as subject: LoadSubject, account: String) async {
        let reply = await persistently { await intake.post(proof, account: account, wait: wait) }
        records.note(reply, of: subject)
        if case .purchase(let answer) = reply, !answer.isSettled {
            questions?.ask(for: subject, id: answer.id, account: account)
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
}

extension LoadReport.Forgery {
    /// Takes over what intake said.
    mutating func note(_ reply: IntakeClient.Reply) {
        switch reply {
        case .purchase(let purchase): (submissionId, state, reason) = (purchase.id, purchase.state, purchase.reason)
        case .refused(_, let problem, let code): (state, self.problem, problemCode) = ("rejected", problem, code)
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
