import Messages
import Synchronization

/// Which accounts have named ids lately that Apple does not know.
///
/// Each such id costs a dozen calls of the app's budget, so whoever invents them waits behind those who have bought something.
final class UnknownIds: Sendable {
    /// Unknown ids of an account within ``period`` that are taken for mistakes.
    static let mistakesMaximum = 5
    static let period = Duration.seconds(600)
    /// Accounts that are remembered; of more, all are forgiven.
    static let accountsMaximum = 10_000

    private struct Account: Hashable {
        let app: String
        let name: String
    }

    private struct State {
        var began: ContinuousClock.Instant
        /// Of the period that began then, and of the one before.
        var counts: [Account: Int] = [:]
        var before: [Account: Int] = [:]
    }

    private let state: Mutex<State>

    init(now: ContinuousClock.Instant = .now) {
        state = Mutex(State(began: now))
    }

    /// Apple does not know what this names.
    func note(_ submission: SubmissionMessage, now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            Self.turn(&state, now)
            if state.counts.count >= UnknownIds.accountsMaximum { state.counts = [:] }
            state.counts[Account(app: submission.app, name: submission.account), default: 0] += 1
        }
    }

    /// Whether the submission's account has named more than can be mistakes.
    func areMany(of submission: SubmissionMessage, now: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { state in
            Self.turn(&state, now)
            let account = Account(app: submission.app, name: submission.account)
            return state.counts[account, default: 0] + state.before[account, default: 0] > UnknownIds.mistakesMaximum
        }
    }

    private static func turn(_ state: inout State, _ now: ContinuousClock.Instant) {
        let elapsed = state.began.duration(to: now)
        guard elapsed >= UnknownIds.period else { return }
        state.before = elapsed < UnknownIds.period * 2 ? state.counts : [:]
        state.counts = [:]
        state.began = now
    }
}
