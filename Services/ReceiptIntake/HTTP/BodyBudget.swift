import Synchronization

/// How many bytes of bodies the process holds at a time, from their first byte until their purchase is on disk.
///
/// A receipt may be a thousand times larger than a signed transaction, so counting requests does not bound memory.
final class BodyBudget: Sendable {
    /// One player's bodies have no more than this part, but room for one.
    static let partOfOne = 4

    /// The most bytes that are held.
    let bytesMaximum: Int
    /// The most bytes that one player's bodies have.
    let ofOneMaximum: Int
    private let held = Mutex(Held())

    private struct Held {
        var bytes = 0
        var byPlayer: [Caller: Int] = [:]
    }

    /// Makes a budget of which nothing is used.
    init(bytesMaximum: Int, bodyBytesMaximum: Int = 0) {
        self.bytesMaximum = bytesMaximum
        ofOneMaximum = max(bytesMaximum / Self.partOfOne, bodyBytesMaximum)
    }

    /// The bytes that are held now.
    var bytesHeld: Int { held.withLock { $0.bytes } }

    /// What becomes of bytes that are asked for.
    enum Taking: Sendable {
        case taken
        /// All bodies together have too many; none was taken.
        case full
        /// The player's bodies have too many; none was taken.
        case shareUsedUp
    }

    /// Takes so many bytes more.
    ///
    /// - Parameter player: whose body it is; nil where nobody's share is looked at.
    func take(_ bytes: Int, of player: Caller? = nil) -> Taking {
        held.withLock { held in
            guard held.bytes + bytes <= bytesMaximum else { return .full }
            if let player {
                let own = held.byPlayer[player, default: 0] + bytes
                guard own <= ofOneMaximum else { return .shareUsedUp }
                held.byPlayer[player] = own
            }
            held.bytes += bytes
            return .taken
        }
    }

    /// Gives bytes back that were taken.
    func giveBack(_ bytes: Int, of player: Caller? = nil) {
        guard bytes > 0 else { return }
        held.withLock { held in
            held.bytes -= bytes
            guard let player else { return }
            let own = held.byPlayer[player, default: bytes] - bytes
            held.byPlayer[player] = own > 0 ? own : nil
        }
    }
}
