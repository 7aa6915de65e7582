import AsyncHTTPClient
import NIOCore
import ServiceRuntime

/// Where clients may lead.
extension EndpointClients {
    /// The addresses of a host, each of them public.
    ///
    /// - Throws: `AddressError` where one is not, and what `resolve` throws.
    static func check(_ host: String, _ resolve: Resolve) async throws -> [InternetAddress] {
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
        // HTTP/2 where the endpoint offers it (ALPN), else HTTP/1.1.
        configuration.httpVersion = .automatic
        guard let address else { return configuration }
        configuration.dnsOverride = [host: address.description]
        let check: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
            let remote = channel.remoteAddress?.ipAddress.flatMap { InternetAddress($0) }
            guard remote == address else {
                return channel.close().flatMapThrowing { throw AddressError("the connection leads somewhere else") }
            }
            return channel.eventLoop.makeSucceededVoidFuture()
        }
        configuration.http1_1ConnectionDebugInitializer = check
        configuration.http2ConnectionDebugInitializer = check
        return configuration
    }
}
