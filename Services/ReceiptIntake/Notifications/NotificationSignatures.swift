import AppStore
import BlockingThreads
// Of these two one declares `timespec` to Swift; which one depends on what the other files of the module import.
import CDispatch
import CoreFoundation
import Foundation

/// Says of what anybody posts whether the App Store signed it, before anything of it is written down.
///
/// It works on a thread of its own and has a share of a core, so that whoever floods it takes nothing from purchases. What
/// comes under a header that was never seen has a small share of its own, so that strangers' chains, each of which costs a
/// dozen signatures, take nothing from Apple's: its headers are always the same, and are learnt from purchases, too.
actor NotificationSignatures {
    enum Limit {
        /// Of a core, for what comes under a header that was seen.
        static let share = 0.5
        /// Of a core, for all else.
        static let unknownShare = 0.05
        /// What of either may be saved: more than a hundred unknown chains, which take less than 1 ms each.
        static let saved = Duration.milliseconds(200)
        /// The longest header that is looked for, in bytes; Apple's have 4.4 kB.
        static let headerBytesMaximum = 16 << 10
    }

    /// Why something is not taken.
    enum Refusal: Error {
        /// It has not the form of a notification of version 2.
        case malformed
        /// The App Store signed it, and nothing in it names an app.
        case nameless
        /// The App Store did not sign it.
        case notGenuine(SignedDataRejection)
        /// Too much comes; Apple is to post again.
        case busy
    }

    private nonisolated let executor = ThreadExecutor(name: "notifications")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let verifier: SignedDataVerifier
    private var known: ProcessorShare
    private var unknown: ProcessorShare

    init(
        roots: TrustedRoots, known: ProcessorShare = ProcessorShare(Limit.share, saved: Limit.saved),
        unknown: ProcessorShare = ProcessorShare(Limit.unknownShare, saved: Limit.saved)
    ) {
        verifier = SignedDataVerifier(roots: roots)
        self.known = known
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
        let header = text.utf8.prefix(Limit.headerBytesMaximum).prefix { $0 != UInt8(ascii: ".") }
        let isKnown = verifier.knows(header: Array(header))
        guard isKnown ? known.isLeft() : unknown.isLeft() else { return .failure(.busy) }
        let begun = Self.processorTime()
        defer {
            let used = Self.processorTime() - begun
            if isKnown { known.spend(used) } else { unknown.spend(used) }
        }
        guard PostedJWS(text, bytesMaximum: ServerNotification.Limit.bytesMaximum) != nil else {
            return .failure(.malformed)
        }
        switch verifier.payload(Array(text.utf8)) {
        case .failure(let rejection): return .failure(.notGenuine(rejection))
        case .success: return ServerNotification(text).map { .success($0) } ?? .failure(.nameless)
        }
    }

    /// What the thread has used; the time on the clock would count what others use, too.
    private static func processorTime() -> Duration {
        var time = timespec()
        guard clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 else { return .zero }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
