import AppStore
import BlockingThreads
import CoreFoundation
import Foundation

/// Says of what anybody posts whether the App Store signed it, before anything of it is written down.
///
/// It works on a thread of its own and has a share of a core, so that whoever floods it takes nothing from purchases. What
/// a chain costs that was never seen has a smaller share: Apple's chains are learnt from purchases, too.
actor NotificationSignatures {
    enum Limit {
        /// Of a core, for all that is posted: some 5,000 genuine notifications a second.
        static let share = 0.5
        /// Of a core, for chains that were not seen before: each costs a dozen signatures.
        static let unknownShare = 0.05
        /// What of either may be saved: more than a hundred unknown chains, which take less than 1 ms each.
        static let saved = Duration.milliseconds(200)
    }

    /// Why something is not taken.
    enum Refusal: Error {
        /// It is no notification of version 2 that names an app.
        case malformed
        /// The App Store did not sign it.
        case notGenuine(SignedDataRejection)
        /// Too much comes; Apple is to post again.
        case busy
    }

    private nonisolated let executor = ThreadExecutor(name: "notifications")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let verifier: SignedDataVerifier
    private var all: ProcessorShare
    private var unknown: ProcessorShare

    init(
        roots: TrustedRoots, all: ProcessorShare = ProcessorShare(Limit.share, saved: Limit.saved),
        unknown: ProcessorShare = ProcessorShare(Limit.unknownShare, saved: Limit.saved)
    ) {
        verifier = SignedDataVerifier(roots: roots)
        self.all = all
        self.unknown = unknown
    }

    /// Ends the thread.
    nonisolated func stop() { executor.stop() }

    /// Remembers chains of purchases that were verified.
    ///
    /// - Parameter headers: the headers' parts of their signed transactions.
    func learn(_ headers: [[UInt8]]) {
        for header in headers { verifier.learn(header: header) }
    }

    /// Reads a `signedPayload` that the App Store signed.
    func read(_ text: String) -> Result<ServerNotification, Refusal> {
        guard all.isLeft() else { return .failure(.busy) }
        let begun = Self.processorTime()
        defer { all.spend(Self.processorTime() - begun) }
        guard CompactJWS(text, bytesMaximum: ServerNotification.Limit.bytesMaximum) != nil else {
            return .failure(.malformed)
        }
        let bytes = Array(text.utf8)
        let isKnown = verifier.knowsChain(of: bytes)
        guard isKnown || unknown.isLeft() else { return .failure(.busy) }
        defer { if !isKnown { unknown.spend(Self.processorTime() - begun) } }
        switch verifier.payload(bytes) {
        case .failure(let rejection): return .failure(.notGenuine(rejection))
        case .success: return ServerNotification(text).map { .success($0) } ?? .failure(.malformed)
        }
    }

    /// What the thread has used; the time on the clock would count what others use, too.
    private static func processorTime() -> Duration {
        var time = timespec()
        guard clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 else { return .zero }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
