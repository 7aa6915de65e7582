import AsyncHTTPClient
import NIOCore
import ServiceRuntime
import Synchronization

/// HTTP clients, one an endpoint, each tied to an address that was checked.
///
/// The guard against server-side request forgery has three steps. The host name is looked up here and refused when
/// *any* of its addresses lies outside the public internet. The client then connects to one of exactly these addresses
/// (`dnsOverride`, which keeps the name for the `host` header, for SNI and for checking the certificate), so that a
/// second look-up with another answer cannot happen. And a new connection's remote address is compared before a
/// request goes out on it. Redirects are not followed. Endpoints that allow private addresses skip all three.
final class EndpointClients: Sendable {
    /// How long a checked address is used before its name is looked up again.
    static let checkInterval = Duration.seconds(60)
    /// How long a checked address is used while no look-up of its name gets an answer.
    static let unansweredMaximum = Duration.seconds(3_600)
    /// How long a look-up may take.
    static let lookUpTimeout = Duration.seconds(5)
    /// How long a connection may take to be made, TLS included.
    static let connectTimeout = TimeAmount.seconds(10)

    /// The use of a client, to be given back.
    struct Lease: Sendable {
        let client: HTTPClient
        /// Where it leads; nil where the endpoint may lead anywhere.
        let address: InternetAddress?
        fileprivate let number: Int
    }

    /// Where an endpoint leads to: an address that was checked for one is none for another.
    struct Target: Sendable, Hashable {
        let endpointId: String
        let host: String
        let allowsPrivateAddresses: Bool

        init(_ endpoint: WebhookEndpoint) {
            endpointId = endpoint.id
            host = endpoint.host
            allowsPrivateAddresses = endpoint.allowsPrivateAddresses
        }
    }

    private struct Entry {
        let target: Target
        let client: HTTPClient
        let address: InternetAddress?
        /// When its address was last among those of the host.
        var checkedAt: ContinuousClock.Instant
        var nextCheck: ContinuousClock.Instant
        var users = 0
        var isRetired = false
    }

    /// Looks a host name up.
    typealias Resolve = @Sendable (_ host: String) async throws -> [InternetAddress]

    private struct State {
        var entries: [Int: Entry] = [:]
        var current: [Target: Int] = [:]
        /// Addresses that gave no answer, the one that failed longest ago first.
        var failed: [Target: [InternetAddress]] = [:]
        var checks: [Target: Task<[InternetAddress], any Error>] = [:]
        var made = 0
    }

    private let resolve: Resolve
    private let connectionsMaximum: Int
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    /// Makes none yet.
    ///
    /// - Parameters:
    ///   - connectionsMaximum: to one endpoint.
    ///   - resolve: looks a host name up.
    init(
        connectionsMaximum: Int, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        resolve: @escaping Resolve
    ) {
        self.connectionsMaximum = connectionsMaximum
        self.now = now
        self.resolve = resolve
    }

    /// Makes none yet, and looks names up with the system's resolver.
    convenience init(connectionsMaximum: Int) {
        let resolver = AddressResolver()
        self.init(connectionsMaximum: connectionsMaximum) { host in
            try await resolver.addresses(of: host, timeout: Self.lookUpTimeout)
        }
    }

    /// The client of an endpoint, for one request; without waiting while a checked address is fresh.
    ///
    /// - Throws: `AddressError` where the address is refused or unknown.
    func lease(for endpoint: WebhookEndpoint) async throws -> Lease {
        if let lease = state.withLock({ fresh(endpoint, &$0) }) { return lease }
        guard !endpoint.allowsPrivateAddresses else { return install(endpoint, address: nil) }
        let target = Target(endpoint)
        let addresses: [InternetAddress]
        do {
            addresses = try await checkedAddresses(endpoint)
        } catch let error as AddressError where error.isUnanswered {
            guard let lease = state.withLock({ unanswered(endpoint, &$0) }) else { throw error }
            return lease
        }
        let (lease, address) = state.withLock { state -> (Lease?, InternetAddress?) in
            // Somebody else may have installed a client during the look-up.
            if let lease = fresh(endpoint, &state) { return (lease, nil) }
            state.failed[target]?.removeAll { !addresses.contains($0) }
            let failed = state.failed[target] ?? []
            if let number = state.current[target], let address = state.entries[number]?.address,
                addresses.contains(address), !failed.contains(address)
            {
                let now = now()
                state.entries[number]?.checkedAt = now
                state.entries[number]?.nextCheck = now + Self.checkInterval
                return (Self.take(number, &state), address)
            }
            return (nil, addresses.first { !failed.contains($0) } ?? failed.first)
        }
        return lease ?? install(endpoint, address: address)
    }

    /// Ends the use of a client.
    ///
    /// - Parameter broken: the endpoint gave no answer: its name is looked up again, and another of its addresses
    ///   tried: one that has not failed, or else the one that failed longest ago.
    func giveBack(_ lease: Lease, broken: Bool) {
        let unused = state.withLock { state -> HTTPClient? in
            guard var entry = state.entries[lease.number] else { return nil }
            entry.users -= 1
            if let address = entry.address {
                state.failed[entry.target]?.removeAll { $0 == address }
                if broken {
                    state.failed[entry.target, default: []].append(address)
                    entry.nextCheck = now()
                }
            }
            state.entries[lease.number] = entry
            return Self.removeIfUnused(lease.number, &state)
        }
        shutDown(unused)
    }

    /// Keeps the clients of these endpoints; others are closed once nothing of theirs is under way.
    func keep(_ endpoints: [WebhookEndpoint]) {
        let targets = Set(endpoints.map(Target.init))
        let unused = state.withLock { state in
            state.current.filter { !targets.contains($0.key) }.compactMap { target, number -> HTTPClient? in
                state.current[target] = nil
                state.failed[target] = nil
                return Self.retire(number, &state)
            }
        }
        for client in unused { shutDown(client) }
    }

    /// Closes all clients; requests under way fail.
    func close() async {
        let clients = state.withLock { state in
            defer {
                state.entries = [:]
                state.current = [:]
            }
            return state.entries.values.map(\.client)
        }
        for client in clients { try? await client.shutdown() }
    }

    private func fresh(_ endpoint: WebhookEndpoint, _ state: inout State) -> Lease? {
        guard let number = state.current[Target(endpoint)], let entry = state.entries[number] else { return nil }
        let isFresh = endpoint.allowsPrivateAddresses || now() < entry.nextCheck
        return isFresh ? Self.take(number, &state) : nil
    }

    /// The client of before: as safe as it was, since it leads to the address that was checked.
    private func unanswered(_ endpoint: WebhookEndpoint, _ state: inout State) -> Lease? {
        let now = now()
        guard let number = state.current[Target(endpoint)], let entry = state.entries[number],
            now - entry.checkedAt < Self.unansweredMaximum
        else { return nil }
        state.entries[number]?.nextCheck = now + Self.checkInterval
        return Self.take(number, &state)
    }

    private static func take(_ number: Int, _ state: inout State) -> Lease? {
        guard let entry = state.entries[number] else { return nil }
        state.entries[number]?.users += 1
        return Lease(client: entry.client, address: entry.address, number: number)
    }

    private func install(_ endpoint: WebhookEndpoint, address: InternetAddress?) -> Lease {
        // On one event loop, so that no step of a request has to wake another thread.
        let client = HTTPClient(
            eventLoopGroupProvider: .shared(HTTPClient.defaultEventLoopGroup.next()),
            configuration: Self.configuration(
                host: endpoint.host, address: address, connectionsMaximum: connectionsMaximum))
        let (lease, unused) = state.withLock { state -> (Lease, HTTPClient?) in
            state.made += 1
            let (number, now) = (state.made, now())
            let previous = state.current.updateValue(number, forKey: Target(endpoint))
            state.entries[number] = Entry(
                target: Target(endpoint), client: client, address: address, checkedAt: now,
                nextCheck: now + Self.checkInterval, users: 1)
            return (
                Lease(client: client, address: address, number: number),
                previous.flatMap { Self.retire($0, &state) }
            )
        }
        shutDown(unused)
        return lease
    }

    /// - Returns: the client, where nobody else will close it.
    private static func retire(_ number: Int, _ state: inout State) -> HTTPClient? {
        state.entries[number]?.isRetired = true
        return removeIfUnused(number, &state)
    }

    private static func removeIfUnused(_ number: Int, _ state: inout State) -> HTTPClient? {
        guard let entry = state.entries[number], entry.isRetired, entry.users == 0 else { return nil }
        state.entries[number] = nil
        return entry.client
    }

    /// Closes a client that nobody uses; the task lasts as long as closing its connections.
    private func shutDown(_ client: HTTPClient?) {
        guard let client else { return }
        Task { try? await client.shutdown() }
    }

    /// The addresses of an endpoint, each of them public; one look-up at a time serves all attempts.
    private func checkedAddresses(_ endpoint: WebhookEndpoint) async throws -> [InternetAddress] {
        let target = Target(endpoint)
        let (check, isOurs) = state.withLock { state -> (Task<[InternetAddress], any Error>, Bool) in
            if let check = state.checks[target] { return (check, false) }
            let check = Task { [resolve] in try await Self.check(endpoint.host, resolve) }
            state.checks[target] = check
            return (check, true)
        }
        defer {
            if isOurs { state.withLock { $0.checks[target] = nil } }
        }
        return try await check.value
    }
}
