import HTTPTypes
import ServiceRuntime

/// Slows down who goes on after having been refused: an address that was refused often within a minute gets its refusals
/// later, and where too many of those wait, its connection is closed.
///
/// So who waits for an answer before the next request takes no processor time from others.
struct RefusalPause: Sendable {
    enum Limit {
        /// Refusals a minute that are answered at once, of one address.
        static let perMinute = 60
        /// Of these so many may come together.
        static let atOnce = 20
        static let pause = Duration.seconds(1)
        /// The most addresses that are remembered.
        static let addressesMaximum = 100_000
    }

    private let rate = TurnRate<ClientAddress>(
        perMinute: Limit.perMinute, atOnce: Limit.atOnce, keysMaximum: Limit.addressesMaximum)
    private let held: HeldRequests

    init(held: HeldRequests) {
        self.held = held
    }

    /// The refusal as it is answered, when it is time to.
    @inline(never)
    func answer(_ problem: ProblemDetails, to client: ClientAddressReader.Client?) async -> ProblemDetails {
        guard problem.status == .tooManyRequests || problem.status == .unauthorized, let client else { return problem }
        let address = client.address.network
        guard (try? rate.take(address)) == nil else { return problem }
        if await held.hold("\(address)", for: Limit.pause) { return problem }
        return problem.with(header: .connection, "close")
    }
}
