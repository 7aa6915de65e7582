import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import ServiceRuntime
import Synchronization

/// How much may come from one address, whoever sends it: an IPv4 address, or an IPv6 network of 64 bits.
///
/// Not counted are Apple's notifications, which have bounds of their own, and what a good server API key is with.
struct AddressLimit: RouterMiddleware {
    enum Limit {
        /// The most addresses that are remembered.
        static let addressesMaximum = 100_000
        /// This part of a minute's requests may come at once.
        static let partAtOnce = 6
        /// The shortest time between two log lines about a proxy that nobody has named.
        static let logInterval = Duration.seconds(60)
    }

    /// The path of Apple's notifications, as its parts.
    private static let notifications: [Substring] = ["v1", "notifications"]

    private let rate: TurnRate<ClientAddress>?
    private let authenticator: Authenticator
    private let unnamedProxy = UnnamedProxyLog()

    /// - Parameter perMinute: 0 for no limit.
    init(perMinute: Int, authenticator: Authenticator) {
        rate =
            perMinute > 0
            ? TurnRate(
                perMinute: perMinute, atOnce: max(1, perMinute / Limit.partAtOnce),
                keysMaximum: Limit.addressesMaximum)
            : nil
        self.authenticator = authenticator
    }

    func handle(
        _ request: Request, context: IntakeContext, next: (Request, IntakeContext) async throws -> Response
    ) async throws -> Response {
        try admit(request, context)
        return try await next(request, context)
    }

    private func admit(_ request: Request, _ context: IntakeContext) throws {
        guard let rate, let client = context.client, client.isCounted,
            MethodMiddleware.parts(request.uri.path) != Self.notifications
        else { return }
        do throws(TurnsExceeded) {
            try rate.take(client.address.network)
        } catch {
            if let token = BearerToken(request.headers), authenticator.knows(serverKey: token) { return }
            unnamedProxy.note(request.headers, client, context.logger)
            throw RequestsLimited.problemOfAddress(perMinute: rate.perMinute, wait: error.wait)
        }
        // With a good server key there is no such limit.
        guard BearerToken(request.headers)?.isServerKey != true else { return }
        RateNotes.note("address", rate, client.address.network)
    }
}

/// Tells an operator of requests that seem to come through a proxy that the settings do not name: all players behind it are
/// counted as one.
private final class UnnamedProxyLog: Sendable {
    private let toldAt = Mutex<ContinuousClock.Instant?>(nil)

    func note(_ headers: HTTPFields, _ client: ClientAddressReader.Client, _ logger: Logger) {
        guard
            ["X-Forwarded-For", "Forwarded", "Via"].contains(where: { name in
                HTTPField.Name(name).map { headers.contains($0) } ?? false
            })
        else { return }
        let now = ContinuousClock.now
        let isDue = toldAt.withLock { toldAt in
            if let last = toldAt, now - last < AddressLimit.Limit.logInterval { return false }
            toldAt = now
            return true
        }
        guard isDue else { return }
        logger.warning(
            """
            requests of one address are refused, and name another one in a header: if it is a proxy of yours, \
            COUNTERSIGN_INTAKE_TRUSTED_PROXIES has to name it
            """,
            metadata: .fields([.host: "\(client.address)"]))
    }
}
