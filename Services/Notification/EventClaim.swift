import Foundation
import Persistence
import Synchronization

/// An event that this process has claimed: it is posted first, and its deliveries are written with the answers (decision 0037).
///
/// All deliveries of the event share one; the recorder alone counts it down.
final class EventClaim: Sendable {
    let eventId: String
    /// By the database's clock.
    let claimedAt: Date
    private let unrecorded: Mutex<Int>

    /// - Parameter deliveries: how many endpoints get the event.
    init(eventId: String, claimedAt: Date, deliveries: Int) {
        self.eventId = eventId
        self.claimedAt = claimedAt
        unrecorded = Mutex(deliveries)
    }

    /// Whether these would be the last of its deliveries that are not recorded.
    func isComplete(with count: Int) -> Bool { unrecorded.withLock { $0 <= count } }

    /// So many more are recorded.
    func recorded(_ count: Int) { unrecorded.withLock { $0 -= count } }
}

/// First attempts that ended together, of events that are claimed.
struct FirstAttempts {
    private let byClaim: [(claim: EventClaim, finished: [DeliveryInbox.Finished])]

    /// - Parameter finished: those that have a claim are taken.
    init(_ finished: [DeliveryInbox.Finished]) {
        var places: [ObjectIdentifier: Int] = [:]
        var byClaim: [(claim: EventClaim, finished: [DeliveryInbox.Finished])] = []
        for one in finished {
            guard let claim = one.claim else { continue }
            if let place = places[ObjectIdentifier(claim)] {
                byClaim[place].finished.append(one)
            } else {
                places[ObjectIdentifier(claim)] = byClaim.count
                byClaim.append((claim, [one]))
            }
        }
        self.byClaim = byClaim
    }

    /// All of them.
    var finished: [DeliveryInbox.Finished] { byClaim.flatMap(\.finished) }

    /// As they are written down.
    var first: [DeliveryStore.First] {
        byClaim.flatMap { claim, finished in
            finished.map { .init(ended: $0.ended, claimedAt: claim.claimedAt) }
        }
    }

    /// The events that have no other delivery to be recorded.
    var complete: [String] {
        byClaim.filter { $0.claim.isComplete(with: $0.finished.count) }.map(\.claim.eventId)
    }

    /// They are written down.
    func recorded() {
        for (claim, finished) in byClaim { claim.recorded(finished.count) }
    }
}
