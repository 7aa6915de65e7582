import ServiceRuntime
import Synchronization

/// How many places of some kind the requests of one network may have at a time, so that who has many accounts cannot take all.
///
/// A network is an IPv4 address or an IPv6 network of 64 bits, as in ``AddressLimit``.
final class NetworkPlaces: Sendable {
    /// Of one network.
    let maximum: Int
    private let taken = Mutex<[ClientAddress: Int]>([:])

    init(maximum: Int) {
        self.maximum = maximum
    }

    /// - Parameters:
    ///   - percent: of the places, rounded up; 100 for no limit.
    ///   - places: of all networks together.
    init(percent: Int, of places: Int) {
        maximum = percent < 100 ? max(1, (places * percent + 99) / 100) : .max
    }

    /// How many networks have places.
    var networksCount: Int { taken.withLock { $0.count } }

    /// A place, which must be given back once.
    struct Place: Sendable {
        fileprivate let places: NetworkPlaces
        /// Nil where the request is counted for nobody.
        fileprivate let network: ClientAddress?

        func leave() {
            if let network { places.leave(network) }
        }
    }

    /// A place for a request; nil where its network has all that it may have.
    ///
    /// - Parameter client: nil where it cannot be told.
    func enter(_ client: ClientAddressReader.Client?) -> Place? {
        guard maximum < .max, let client, client.isCounted else { return Place(places: self, network: nil) }
        let network = client.address.network
        let isRoom = taken.withLock { taken in
            let count = taken[network, default: 0]
            guard count < maximum else { return false }
            taken[network] = count + 1
            return true
        }
        return isRoom ? Place(places: self, network: network) : nil
    }

    private func leave(_ network: ClientAddress) {
        taken.withLock { taken in
            let count = taken[network, default: 1] - 1
            taken[network] = count > 0 ? count : nil
        }
    }
}
