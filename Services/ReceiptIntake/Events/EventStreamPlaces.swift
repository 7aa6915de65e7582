import HTTPTypes
import PurchaseModel
import ServiceRuntime
import Synchronization

/// How many streams of events are open: of the process, of one account, and of the players of one network.
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
    /// Of the players of one network; one more is 429.
    private let networks: NetworkPlaces
    private let state = Mutex(State())

    init(maximum: Int, ofAccountMaximum: Int, networks: NetworkPlaces) {
        self.maximum = maximum
        self.networks = networks
        self.ofAccountMaximum = ofAccountMaximum
    }

    /// How many are open.
    var count: Int { state.withLock { $0.count } }

    /// A place, given back when nobody has it any more.
    final class Place: Sendable {
        private let places: EventStreamPlaces
        private let owner: Owner
        private let network: NetworkPlaces.Place?

        fileprivate init(_ places: EventStreamPlaces, _ owner: Owner, _ network: NetworkPlaces.Place?) {
            self.places = places
            self.owner = owner
            self.network = network
        }

        deinit {
            network?.leave()
            places.leave(owner)
        }
    }

    /// A place for another stream.
    ///
    /// - Parameter client: where the request came from; nil where that cannot be told.
    /// - Throws: `ProblemDetails`: 429 or 503.
    func enter(_ caller: Caller, account: Account, from client: ClientAddressReader.Client?) throws -> Place {
        let owner = Owner(app: caller.app, account: account)
        // The studio's backend speaks for many accounts.
        let network = caller.isServer ? nil : networks.enter(client)
        guard caller.isServer || network != nil else {
            RequestsLimited.count("address_streams", .refused)
            throw ProblemDetails.streamsOfAddress(maximum: networks.maximum)
        }
        do {
            try enter(owner)
        } catch {
            network?.leave()
            throw error
        }
        return Place(self, owner, network)
    }

    private func enter(_ owner: Owner) throws {
        try state.withLock { state in
            guard state.owners[owner, default: 0] < ofAccountMaximum else {
                RequestsLimited.count("streams", .refused)
                throw ProblemDetails.streamsOfAccount(maximum: ofAccountMaximum)
            }
            guard state.count < maximum else { throw ProblemDetails.streamsFull }
            state.count += 1
            state.owners[owner, default: 0] += 1
        }
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
            .streamsOfAccount, "An account may have \(maximum) streams of events at a time; close one, or pull.",
            retryAfterSeconds: streamRetryAfterSeconds)
    }

    static func streamsOfAddress(maximum: Int) -> ProblemDetails {
        ProblemDetails(
            .streamsOfAddress, "Players at one address may have \(maximum) streams of events at a time; pull.",
            retryAfterSeconds: streamRetryAfterSeconds)
    }

    static let streamsFull = ProblemDetails(
        .streamsFull, "Open it again in a moment, or pull.", retryAfterSeconds: streamRetryAfterSeconds)
}
