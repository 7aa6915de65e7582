import Synchronization

/// Something that a load posts, by its index among its like.
enum LoadSubject: Hashable, Sendable {
    case purchase(Int)
    case forgery(Int)
}

/// What is known so far of everything that a load posts; filled in by many tasks at once.
final class LoadRecords: Sendable {
    /// What is counted along the way.
    struct Counts: Sendable {
        var statuses: [String: Int] = [:]
        var retries = 0
        var stepsDone = 0
        var accepted = 0
        var settled = 0
        var mismatchedIds = 0
    }

    private struct State {
        var counts = Counts()
        var purchases: [LoadReport.Purchase]
        var forgeries: [LoadReport.Forgery]
        /// When each purchase was first posted.
        var began: [ContinuousClock.Instant?]
    }

    private let state: Mutex<State>

    init(purchases: [LoadReport.Purchase], forgeries: [LoadReport.Forgery]) {
        let began = [ContinuousClock.Instant?](repeating: nil, count: purchases.count)
        state = Mutex(State(purchases: purchases, forgeries: forgeries, began: began))
    }

    var counts: Counts { state.withLock { $0.counts } }
    var purchases: [LoadReport.Purchase] { state.withLock { $0.purchases } }
    var forgeries: [LoadReport.Forgery] { state.withLock { $0.forgeries } }

    /// A purchase is about to be posted.
    func begin(_ index: Int) {
        state.withLock { if $0.began[index] == nil { $0.began[index] = .now } }
    }

    /// An answer came, or none did.
    func note(_ reply: IntakeClient.Reply) {
        let status =
            switch reply {
            case .purchase(let purchase): purchase.isSettled ? "200" : "202"
            case .tryAgain(let status, _, _): status.map { "\($0)" } ?? "unreachable"
            case .refused(let status, _, _): "\(status)"
            }
        state.withLock { $0.counts.statuses[status, default: 0] += 1 }
    }

    /// Something is sent once more.
    func noteRetry() {
        state.withLock { $0.counts.retries += 1 }
    }

    /// A step of the plan is done.
    func noteStep() {
        state.withLock { $0.counts.stepsDone += 1 }
    }

    /// What intake said of something at last, or that it said nothing.
    func note(_ reply: IntakeClient.Reply, of subject: LoadSubject) {
        switch (subject, reply) {
        case (.purchase(let index), .purchase(let answer)): update(index, with: answer)
        case (.purchase(let index), .tryAgain(_, _, let problem)), (.purchase(let index), .refused(_, let problem, _)):
            fail(index, problem: problem)
        case (.forgery(let index), _): state.withLock { $0.forgeries[index].note(reply) }
        }
    }

    /// Intake has told how a purchase stands.
    func update(_ index: Int, with answer: IntakeClient.Purchase) {
        state.withLock { state in
            let elapsed = state.began[index].map { ($0.duration(to: .now)).milliseconds }
            if let known = state.purchases[index].submissionId {
                if known != answer.id { state.counts.mismatchedIds += 1 }
            } else {
                state.purchases[index].submissionId = answer.id
                state.purchases[index].acceptedMilliseconds = elapsed
                state.counts.accepted += 1
            }
            guard !state.purchases[index].isSettled else { return }
            state.purchases[index].state = answer.state
            state.purchases[index].reason = answer.reason
            state.purchases[index].finish = answer.finish
            state.purchases[index].problem = nil
            if answer.isSettled {
                state.purchases[index].outcomeMilliseconds = elapsed
                state.counts.settled += 1
            }
        }
    }

    /// A purchase could not be posted, or asked for.
    func fail(_ index: Int, problem: String) {
        state.withLock { state in
            if !state.purchases[index].isSettled { state.purchases[index].problem = problem }
        }
    }
}
