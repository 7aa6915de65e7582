import EventProcessing
import Logging
import Persistence
import Postgres
import ServiceRuntime

/// The use case: accounts that somebody asked to forget are forgotten, one after the other.
struct ForgetAccounts: Sendable {
    let requests: ForgetRequestStore
    let store: ForgettingStore

    enum Pace {
        /// After which another process goes on with a request: more than the longest look and the longest step take.
        static let lease = Duration.seconds(900)
        /// Until the account's purchases that are under way are looked for again.
        static let wait = Duration.seconds(2)
        /// Until what failed, or was not over, is gone on with.
        static let pause = Duration.seconds(10)
        /// How long reading the largest table whole may take.
        static let statementTimeout = Duration.seconds(600)
        /// Connections of their own, so that a long look takes none of a purchase.
        static let connections = 2
    }

    init(pool: PostgresPool) {
        requests = ForgetRequestStore(pool: pool)
        store = ForgettingStore(pool: pool)
    }

    /// The settings of a pool whose statements may read whole tables.
    static func configuration(_ configuration: PostgresConfiguration) -> PostgresConfiguration {
        var patient = configuration
        patient.poolSizeMaximum = Pace.connections
        patient.statementTimeout = Pace.statementTimeout
        patient.responseTimeout = Pace.statementTimeout + .seconds(30)
        return patient
    }

    /// Goes on with requests that are due.
    ///
    /// - Returns: how many were gone on with.
    /// - Throws: `PostgresError`; then it is gone on with after the pause.
    func forget(limit: Int) async throws -> Int {
        let due = try await requests.claimDue(limit: limit, lease: Pace.lease)
        for request in due {
            do {
                switch try await store.advance(request) {
                case .finished: break
                case .underWay: try await requests.putOff(request, by: Pace.pause, waitsFor: nil)
                case .waiting(let reason): try await requests.putOff(request, by: Pace.wait, waitsFor: reason)
                }
            } catch {
                // Nothing of it is in the log but the error: the request has the name.
                try await requests.putOff(request, by: Pace.pause, waitsFor: "a failure: see the log of fulfillment")
                throw error
            }
        }
        return due.count
    }
}
