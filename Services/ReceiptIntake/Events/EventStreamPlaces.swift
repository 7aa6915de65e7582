import HTTPTypes
import PurchaseModel
import ServiceRuntime
import Synchronization

/// How many streams of events are open: of the process, and of one account.
///
/// Each keeps a connection for hours, so that they may not take all of them.
final class EventStreamPlaces: Sendable {
    fileprivate struct Owner: Hashable {
        let app: String
        let account: Account
    }

    private struct State {
        var count = 0
        var owners: [Owner: Int] = [:]
    }

    /// Of the process; one more is 503.
    let maximum: Int
    /// Of one account; one more is 429.
    let ofAccountMaximum: Int
    private let state = Mutex(State())

    init(maximum: Int, ofAccountMaximum: Int) {
        self.maximum = maximum
        self.ofAccountMaximum = ofAccountMaximum
    }

    /// How many are open.
    var count: Int { state.withLock { $0.count } }

    /// A place, given back when nobody has it any more.
    final class Place: Sendable {
        private let places: EventStreamPlaces
        private let owner: Owner

        fileprivate init(_ places: EventStreamPlaces, _ owner: Owner) {
            self.places = places
            self.owner = owner
        }

        deinit { places.leave(owner) }
    }

    /// A place for another stream.
    ///
    /// - Throws: `ProblemDetails`: 429 or 503.
    func enter(app: String, account: Account) throws -> Place {
        let owner = Owner(app: app, account: account)
        try state.withLock { state in
            guard state.owners[owner, default: 0] < ofAccountMaximum else {
                RequestsLimited.count("streams", .refused)
                throw ProblemDetails.streamsOfAccount(maximum: ofAccountMaximum)
            }
            guard state.count < maximum else { throw ProblemDetails.streamsFull }
            state.count += 1
            state.owners[owner, default: 0] += 1
        }
        return Place(self, owner)
    }

    private func leave(_ owner: Owner) {
        state.withLock { state in
            state.count -= 1
            let own = state.owners[owner, default: 1] - 1
            state.owners[owner] = own > 0 ? own : nil
        }
    }
}

extension ProblemDetails {
    /// After how many seconds to try to open a stream again.
    static let streamRetryAfterSeconds = 5

    static func streamsOfAccount(maximum: Int) -> ProblemDetails {
        ProblemDetails(
            "streams-of-account", title: "The account has too many streams", status: .tooManyRequests,
            detail: "An account may have \(maximum) streams of events at a time; close one, or pull."
        ).with(header: .retryAfter, "\(streamRetryAfterSeconds)")
    }

    static let streamsFull = ProblemDetails(
        "streams-full", title: "Too many streams are open", status: .serviceUnavailable,
        detail: "Open it again in a moment, or pull."
    ).with(header: .retryAfter, "\(streamRetryAfterSeconds)")
}
