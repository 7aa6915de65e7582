import HTTPTypes
import Pacing
import PurchaseModel
import ServiceRuntime

/// Keeps what is read, and what players write beside purchases, from taking the connections to the database away from what is
/// accepted.
///
/// So many of these requests are under way at a time; those that wait get their turn account by account.
struct ReadingTurns: Sendable {
    enum Limit {
        /// Requests that wait; one more is put off.
        static let waiting = 1_000
    }

    let limits: AccountLimits
    private let turns: FairTurns

    /// - Parameter connections: to the database, of which these requests use half at most.
    init(limits: AccountLimits, connections: Int, waitingMaximum: Int = Limit.waiting) {
        self.limits = limits
        turns = FairTurns(maximum: max(1, connections / 2), waitingMaximum: waitingMaximum)
    }

    /// Reads something for a caller when it is its turn.
    ///
    /// - Throws: `ProblemDetails`: 429 or 503; and what `body` throws.
    @inline(never)
    func take<Value: Sendable>(
        for caller: Caller, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await limits.admitReading(by: caller)
        return try await takeAgain(for: caller, body)
    }

    /// The same within a request that was counted before: it reads what came since, or writes what its body says.
    ///
    /// - Throws: `ProblemDetails`, 503; and what `body` throws.
    @inline(never)
    func takeAgain<Value: Sendable>(
        for caller: Caller, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let value = try await turns.take(asker: Self.asker(caller), body) else {
            throw ProblemDetails.putOff
        }
        return value
    }

    private static func asker(_ caller: Caller) -> String {
        switch caller {
        case .server(let app): "\(app) "
        case .testServer(let app): "test \(app) "
        case .account(let app, let name, _): "\(app) \(name.text)"
        }
    }
}

extension ProblemDetails {
    /// 503; not `overloaded`, since no purchase is turned away.
    static let putOff = ProblemDetails(
        .putOff, "Ask again.", retryAfterSeconds: overloadRetryAfterSeconds)
}
