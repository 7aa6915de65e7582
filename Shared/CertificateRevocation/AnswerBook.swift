import Foundation
import Synchronization

/// What is known of each certificate, and who waits to know; nothing in here waits or asks.
final class AnswerBook: Sendable {
    enum Limit {
        /// Questions under way at once; a chain has two certificates, and Apple uses a few chains.
        static let questions = 64
        /// Callers that wait for answers.
        static let waiters = 10_000
    }

    /// What a look-up came to; who is told that it must ask begins the question, and nobody else does.
    enum Lookup {
        /// Known well enough; `mustAsk` renews it in the background.
        case known(RevocationStatus, mustAsk: Bool)
        /// Not known: the answer is to be awaited.
        case awaited(mustAsk: Bool)
        /// Not known, and too much is under way.
        case full
    }

    struct Waiter: Hashable {
        fileprivate let number: UInt64
    }

    private struct State {
        var entries: [CertificateKey: AnswerEntry] = [:]
        var waiters: [CertificateKey: [Waiter: CheckedContinuation<RevocationStatus, Never>]] = [:]
        var waiterCount = 0
        var questions = 0
        var lastWaiter: UInt64 = 0
        var uses: UInt64 = 0
    }

    private let settings: RevocationChecker.Settings
    /// Held for steps in small dictionaries only.
    private let state = Mutex(State())

    init(settings: RevocationChecker.Settings) {
        self.settings = settings
    }

    var count: Int { state.withLock { $0.entries.count } }

    /// What is known now; may say that the caller must ask, which then counts as under way.
    func lookUp(_ key: CertificateKey, at now: Date) -> Lookup {
        state.withLock { state in
            state.uses += 1
            var entry = state.entries[key] ?? AnswerEntry()
            entry.lastUse = state.uses
            let need = entry.need(at: now, settings: settings)
            let mustAsk = need != .nothing && !entry.isAsked && state.questions < Limit.questions
            if need == .answer, !mustAsk, !entry.isAsked || state.waiterCount >= Limit.waiters { return .full }
            if state.entries[key] == nil, !makeRoom(&state) { return .full }
            if mustAsk {
                entry.isAsked = true
                state.questions += 1
            }
            state.entries[key] = entry
            return need == .answer
                ? .awaited(mustAsk: mustAsk)
                : .known(entry.standing(at: now, settings: settings), mustAsk: mustAsk)
        }
    }

    /// Notes what a question came to, and tells all who waited.
    func settle(_ key: CertificateKey, _ outcome: QuestionOutcome, at now: Date) {
        let (status, waiting) = state.withLock { state in
            var entry = state.entries[key] ?? AnswerEntry()
            entry.isAsked = false
            entry.settle(outcome, at: now)
            state.entries[key] = entry
            state.questions -= 1
            let waiting = state.waiters.removeValue(forKey: key) ?? [:]
            state.waiterCount -= waiting.count
            return (entry.standing(at: now, settings: settings), waiting.values)
        }
        for continuation in waiting { continuation.resume(returning: status) }
    }

    /// Forgets what was answered, unless a question is under way.
    func forget(_ key: CertificateKey) {
        state.withLock { state in
            guard state.entries[key]?.isAsked == false else { return }
            state.entries[key] = nil
        }
    }

    func makeWaiter() -> Waiter {
        state.withLock { state in
            state.lastWaiter += 1
            return Waiter(number: state.lastWaiter)
        }
    }

    /// Lets a caller wait for the question under way; when that is over already, returns what it came to.
    func enlist(
        _ waiter: Waiter, _ continuation: CheckedContinuation<RevocationStatus, Never>, for key: CertificateKey,
        at now: Date
    ) -> RevocationStatus? {
        state.withLock { state in
            guard let entry = state.entries[key] else { return .unknown("the answer was forgotten") }
            guard entry.isAsked else { return entry.standing(at: now, settings: settings) }
            state.waiters[key, default: [:]][waiter] = continuation
            state.waiterCount += 1
            return nil
        }
    }

    /// Tells a caller that was cancelled that nothing is known, unless it was told something before.
    func dismiss(_ waiter: Waiter, of key: CertificateKey) {
        let continuation = state.withLock { state in
            let continuation = state.waiters[key]?.removeValue(forKey: waiter)
            if continuation != nil { state.waiterCount -= 1 }
            return continuation
        }
        continuation?.resume(returning: .unknown("cancelled"))
    }

    /// Forgets what is missed least when there is no room for one more; false when all are being asked about.
    private func makeRoom(_ state: inout State) -> Bool {
        guard state.entries.count >= settings.certificatesMaximum else { return true }
        let idle = state.entries.lazy.filter { !$0.value.isAsked }
        guard let least = idle.min(by: { $0.value.isMissedLess(than: $1.value) }) else { return false }
        state.entries[least.key] = nil
        return true
    }
}
