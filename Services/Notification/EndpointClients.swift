import AsyncHTTPClient
import NIOCore

/// HTTP clients, one an endpoint, each tied to an address that was checked.
///
/// The guard against server-side request forgery has three steps. The host name is looked up here and refused when
/// *any* of its addresses lies outside the public internet. The client then connects to one of exactly these addresses
/// (`dnsOverride`, which keeps the name for the `host` header, for SNI and for checking the certificate), so that a
/// second look-up with another answer cannot happen. And a new connection's remote address is compared before a
/// request goes out on it. Redirects are not followed. Endpoints that allow private addresses skip all three.
actor EndpointClients {
    /// How long a checked address is used before its name is looked up again.
    static let checkInterval = Duration.seconds(60)
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
        var checkedAt: ContinuousClock.Instant
        var users = 0
        var isRetired = false
    }

    /// Looks a host name up.
    typealias Resolve = @Sendable (_ host: String) async throws -> [InternetAddress]

    private let resolve: Resolve
    private let connectionsMaximum: Int
    private let clock = ContinuousClock()
    private var entries: [Int: Entry] = [:]
    private var current: [Target: Int] = [:]
    private var failed: [Target: InternetAddress] = [:]
    private var checks: [Target: Task<[InternetAddress], any Error>] = [:]
    private var made = 0

    /// Makes none yet.
    ///
    /// - Parameters:
    ///   - connectionsMaximum: to one endpoint.
    ///   - resolve: looks a host name up.
    init(connectionsMaximum: Int, resolve: @escaping Resolve) {
        self.connectionsMaximum = connectionsMaximum
        self.resolve = resolve
    }

    /// Makes none yet, and looks names up with the system's resolver.
    init(connectionsMaximum: Int) {
        let resolver = AddressResolver()
        self.init(connectionsMaximum: connectionsMaximum) { host in
            try await resolver.addresses(of: host, timeout: Self.lookUpTimeout)
        }
    }

    /// The client of an endpoint, for one request.
    ///
    /// - Throws: `AddressError` where the address is refused or unknown.
    func lease(for endpoint: WebhookEndpoint) async throws -> Lease {
        if let lease = fresh(endpoint) { return lease }
        guard !endpoint.allowsPrivateAddresses else { return install(endpoint, address: nil) }
        let target = Target(endpoint)
        let addresses = try await checkedAddresses(endpoint)
        // Somebody else may have installed a client during the look-up.
        if let lease = fresh(endpoint) { return lease }
        if let number = current[target], let address = entries[number]?.address, addresses.contains(address),
            address != failed[target]
        {
            entries[number]?.checkedAt = clock.now
            return take(number) ?? install(endpoint, address: address)
        }
        let address = addresses.first { $0 != failed[target] } ?? addresses.first
        return install(endpoint, address: address)
    }

    /// Ends the use of a client.
    ///
    /// - Parameter broken: the endpoint gave no answer: its name is looked up again, and another of its addresses tried.
    func giveBack(_ lease: Lease, broken: Bool) async {
        guard var entry = entries[lease.number] else { return }
        entry.users -= 1
        if let address = entry.address {
            if broken {
                failed[entry.target] = address
                entry.checkedAt = clock.now - Self.checkInterval
            } else if failed[entry.target] == address {
                failed[entry.target] = nil
            }
        }
        entries[lease.number] = entry
        await closeIfUnused(lease.number)
    }

    /// Keeps the clients of these endpoints; others are closed once nothing of theirs is under way.
    func keep(_ endpoints: [WebhookEndpoint]) {
        let targets = Set(endpoints.map(Target.init))
        for (target, number) in current where !targets.contains(target) {
            current[target] = nil
            failed[target] = nil
            retire(number)
        }
    }

    /// Closes all clients; requests under way fail.
    func close() async {
        let clients = entries.values.map(\.client)
        entries = [:]
        current = [:]
        for client in clients { try? await client.shutdown() }
    }

    private func fresh(_ endpoint: WebhookEndpoint) -> Lease? {
        guard let number = current[Target(endpoint)], let entry = entries[number] else { return nil }
        let isFresh = endpoint.allowsPrivateAddresses || clock.now - entry.checkedAt < Self.checkInterval
        return isFresh ? take(number) : nil
    }

    private func take(_ number: Int) -> Lease? {
        guard let entry = entries[number] else { return nil }
        entries[number]?.users += 1
        return Lease(client: entry.client, address: entry.address, number: number)
    }

    private func install(_ endpoint: WebhookEndpoint, address: InternetAddress?) -> Lease {
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: Self.configuration(
                host: endpoint.host, address: address, connectionsMaximum: connectionsMaximum))
        made += 1
        let previous = current.updateValue(made, forKey: Target(endpoint))
        entries[made] = Entry(
            target: Target(endpoint), client: client, address: address, checkedAt: clock.now, users: 1)
        if let previous { retire(previous) }
        return Lease(client: client, address: address, number: made)
    }

    private func retire(_ number: Int) {
        entries[number]?.isRetired = true
        // Nobody else will close an idle one; the task lasts as long as closing its connections.
        Task { await self.closeIfUnused(number) }
    }

    private func closeIfUnused(_ number: Int) async {
        guard let entry = entries[number], entry.isRetired, entry.users == 0 else { return }
        entries[number] = nil
        try? await entry.client.shutdown()
    }

    /// The addresses of an endpoint, each of them public; one look-up at a time serves all attempts.
    private func checkedAddresses(_ endpoint: WebhookEndpoint) async throws -> [InternetAddress] {
        let target = Target(endpoint)
        if let check = checks[target] { return try await check.value }
        let check = Task { [resolve] in try await Self.check(endpoint.host, resolve) }
        checks[target] = check
        defer { checks[target] = nil }
        return try await check.value
    }

    private static func check(_ host: String, _ resolve: Resolve) async throws -> [InternetAddress] {
        let addresses: [InternetAddress]
        if let literal = InternetAddress(host) { addresses = [literal] } else { addresses = try await resolve(host) }
        for address in addresses {
            if let refusal = address.refusal {
                throw AddressError("the host has the address \(address), which is \(refusal): webhooks do not go there")
            }
        }
        return addresses
    }

    /// How a client is set up.
    ///
    /// - Parameters:
    ///   - host: as it is spelt in the endpoint's address.
    ///   - address: where every connection must lead; nil to let the system look the host up.
    static func configuration(
        host: String, address: InternetAddress?, connectionsMaximum: Int
    ) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = connectTimeout
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionsMaximum
        // Trying again is the schedule's business, and a refused connection is worth knowing at once.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        guard let address else { return configuration }
        configuration.dnsOverride = [host: address.description]
        configuration.http1_1ConnectionDebugInitializer = { channel in
            let remote = channel.remoteAddress?.ipAddress.flatMap { InternetAddress($0) }
            guard remote == address else {
                return channel.close().flatMapThrowing { throw AddressError("the connection leads somewhere else") }
            }
            return channel.eventLoop.makeSucceededVoidFuture()
        }
        return configuration
    }
}
