import Synchronization

/// How many bytes of bodies the process holds at a time, from their first byte until their purchase is on disk.
///
/// A receipt may be a thousand times larger than a signed transaction, so counting requests does not bound memory.
final class BodyBudget: Sendable {
    /// The most bytes that are held.
    let bytesMaximum: Int
    private let held = Mutex(0)

    /// Makes a budget of which nothing is used.
    init(bytesMaximum: Int) {
        self.bytesMaximum = bytesMaximum
    }

    /// The bytes that are held now.
    var bytesHeld: Int { held.withLock { $0 } }

    /// Takes so many bytes more; false, and none, when that is too many.
    func take(_ bytes: Int) -> Bool {
        held.withLock { held in
            guard held + bytes <= bytesMaximum else { return false }
            held += bytes
            return true
        }
    }

    /// Gives bytes back that were taken.
    func giveBack(_ bytes: Int) {
        held.withLock { $0 -= bytes }
    }
}
