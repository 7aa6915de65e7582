import CertificateRevocation
import Logging
import Persistence
import PurchaseModel
import ServiceRuntime
import Synchronization

/// Revocations that were learnt, in the database: for every worker, for after a restart, and for when no responder answers.
final class StoredRevocations: Sendable {
    /// The time between looks at what others have learnt, and at what somebody has taken back.
    static let interval = Duration.seconds(30)

    /// What was learnt here and is not written yet.
    private final class Waiting: Sendable {
        private let rows = Mutex<[RevokedCertificateStore.Row]>([])
        private let wake = Mutex<(@Sendable () -> Void)?>(nil)

        var all: [RevokedCertificateStore.Row] { rows.withLock { $0 } }

        func add(_ row: RevokedCertificateStore.Row) {
            rows.withLock { $0.append(row) }
            wake.withLock { $0 }?()
        }

        func remove(_ row: RevokedCertificateStore.Row) {
            rows.withLock { $0.removeAll { $0.fingerprint == row.fingerprint } }
        }

        func onAdding(_ action: @escaping @Sendable () -> Void) { wake.withLock { $0 = action } }
    }

    /// What checkers share.
    let known: RevokedCertificates
    private let store: RevokedCertificateStore
    private let waiting: Waiting
    private let isLoaded = Atomic(false)

    init(store: RevokedCertificateStore, attention: AttentionLog) {
        self.store = store
        let waiting = Waiting()
        self.waiting = waiting
        known = RevokedCertificates { revocation in
            attention.raise(
                .certificateRevoked, app: "-",
                "a certificate that signs for the App Store is revoked: what it signed is refused from now on")
            waiting.add(
                RevokedCertificateStore.Row(
                    fingerprint: revocation.fingerprint, certificate: revocation.certificate,
                    revokedAt: revocation.revokedAt, reason: revocation.reason, answer: revocation.answer))
        }
    }

    /// Looks at once, whenever something is learnt, and now and then.
    func task(logger: Logger) -> PeriodicTask {
        let task = PeriodicTask("revocations", schedule: .init(every: StoredRevocations.interval), logger: logger) {
            try await self.look()
        }
        waiting.onAdding { task.wake() }
        return task
    }

    /// Writes what was learnt here, and reads what all have learnt.
    ///
    /// - Throws: `PostgresError`; then what was known stays, and what was learnt is written by the next look.
    func look() async throws {
        for row in waiting.all {
            try await store.add(row)
            waiting.remove(row)
        }
        known.use(stored: try await store.all())
        isLoaded.store(true, ordering: .releasing)
    }

    /// Returns once what is stored was read, or could not be: a database that rests holds nothing up for long.
    func ready() async {
        guard !isLoaded.load(ordering: .acquiring) else { return }
        // The task says what is wrong, and goes on.
        try? await look()
        isLoaded.store(true, ordering: .releasing)
    }
}
