import PurchaseModel
import Synchronization

/// How many requests of an account, and of a network, may wait for something at a time: for an outcome, a version or an event.
///
/// One more is answered at once with what is known, as where too many wait in all. The studio's backend speaks for many
/// accounts and has no such limit.
final class AccountWaits: Sendable {
    /// What a request waits for; each kind has places of its own.
    enum Kind: Sendable, Hashable, CaseIterable {
        case outcome
        case version
        case event
    }

    /// A request's place among those that wait.
    struct Place: Sendable {
        /// How long it may wait.
        let time: Duration
        /// The account that waits, without its token.
        fileprivate var account: Caller?
        fileprivate var network: NetworkPlaces.Place?

        fileprivate init(time: Duration) {
            self.time = time
        }
    }

    /// Of one account.
    let maximum: Int
    private let waiting = Mutex<[Caller: Int]>([:])
    private let networks: [Kind: NetworkPlaces]

    /// - Parameter networks: the places of each kind that one network may have; no limit for a kind that is not named.
    init(maximum: Int, networks: [Kind: NetworkPlaces] = [:]) {
        self.maximum = maximum
        self.networks = networks
    }

    /// How many accounts wait for something.
    var accountsCount: Int { waiting.withLock { $0.count } }

    /// A place for a request; must be followed by ``leave(_:)``.
    ///
    /// - Parameters:
    ///   - caller: nil for the studio's backend.
    ///   - client: where the request came from; nil where that cannot be told.
    func enter(
        _ caller: Caller?, wait: Duration, for kind: Kind, from client: ClientAddressReader.Client?
    ) -> Place {
        guard wait > .zero, case .account(let app, let name, _)? = caller else { return Place(time: wait) }
        var place = Place(time: wait)
        if let networks = networks[kind] {
            guard let network = networks.enter(client) else {
                RequestsLimited.count("address_waits", .hastened)
                return Place(time: .zero)
            }
            place.network = network
        }
        let account = Caller.account(app: app, name: name, accountToken: nil)
        let isRoom = waiting.withLock { waiting in
            let count = waiting[account, default: 0]
            guard count < maximum else { return false }
            waiting[account] = count + 1
            return true
        }
        guard isRoom else {
            RequestsLimited.count("waits", .hastened)
            leave(place)
            return Place(time: .zero)
        }
        place.account = account
        return place
    }

    /// Gives a place back.
    func leave(_ place: Place) {
        place.network?.leave()
        guard let account = place.account else { return }
        waiting.withLock { waiting in
            let count = waiting[account, default: 1] - 1
            waiting[account] = count > 0 ? count : nil
        }
    }
}
