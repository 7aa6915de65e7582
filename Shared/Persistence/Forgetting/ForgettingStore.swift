import Foundation
package import Postgres
import PurchaseModel

/// Replaces an account's name by a pseudonym in every table, and removes its tokens, its intents and its proofs: all that was there
/// at the moment of the request, and nothing that came by the same name afterwards.
///
/// Until all of it has the pseudonym fulfillment gives nothing by the name, so that whatever fulfillment has written by it is of before;
/// what others write (submissions, tokens, intents, spends, adjustments, consents, claims) is told apart by its time. Then what was
/// posted before is settled by the pseudonym, and is waited for.
///
/// A look finds all rows, without locks; steps of at most ``Limit/rows`` rows of each table change them, in the order of locks
/// that fulfillment has. Each is a transaction, nearly always a single one. It is repeated until a look finds nothing: whatever was
/// written meanwhile by who had read the name before is found by the next.
package struct ForgettingStore: Sendable {
    let pool: PostgresPool
    private let rowsMaximum: Int

    package enum Limit {
        /// Rows of each table that one transaction changes.
        package static let rows = 2_000
        /// How long purchases that were posted before are waited for; then they are rejected.
        static let waitForPurchases = Duration.seconds(86_400)
        /// Looks of one call; whoever goes on buying is looked for again later.
        static let looks = 10
        /// How long a batch of purchases that is under way may hold up the last look.
        static let barrier = Duration.seconds(5)
    }

    /// - Parameters:
    ///   - pool: whose statements may take as long as reading the largest table takes.
    ///   - rowsMaximum: rows of each table that one transaction changes.
    package init(pool: PostgresPool, rowsMaximum: Int = Limit.rows) {
        self.pool = pool
        self.rowsMaximum = rowsMaximum
    }

    /// What one call came to.
    package enum Progress: Sendable, Hashable {
        /// Nothing was done: something has to be over first.
        case waiting(for: String)
        /// Rows were changed, and perhaps not all.
        case underWay
        /// Nothing has the name any more.
        case finished
    }

    /// Goes on with a request; harmless to repeat, and to run in two processes at once.
    ///
    /// - Throws: `PostgresError`; then the same call goes on.
    @inline(never)
    package func advance(_ request: ForgetRequestStore.Due) async throws -> Progress {
        var request = request
        if !request.isRenamed {
            // Who began before the request does not know of it.
            try await waitForBatches()
            guard try await forget(request) else { return .underWay }
            try await pool.withTransaction { [request] in try await ForgetRequestStore.markRenamed(request, on: $0) }
            request.isRenamed = true
        }
        if try await hasPurchasesUnderWay(request) { return .waiting(for: "purchases that have no outcome yet") }
        guard try await forget(request) else { return .underWay }
        try await finish(request)
        return .finished
    }

    /// - Returns: whether a look found nothing any more.
    private func forget(_ request: ForgetRequestStore.Due) async throws -> Bool {
        for _ in 0..<Limit.looks {
            let traces = try await traces(of: request)
            var changed = 0
            try await prepare(traces, request)
            for slice in traces.slices(of: rowsMaximum) {
                changed += try await change(slice, request)
            }
            if changed == 0 { return true }
            try await waitForBatches()
        }
        return false
    }

    /// Whether something that the account posted before is not settled: it is settled by the pseudonym, and forgotten then.
    private func hasPurchasesUnderWay(_ request: ForgetRequestStore.Due) async throws -> Bool {
        let result = try await pool.query(
            """
            SELECT EXISTS (SELECT FROM submissions s
                    WHERE s.account = \(request.account) AND s.app = \(request.app) AND s.state = 'received'
                        AND s.received_at <= r.requested_at
                        AND NOT \(ForgetRequestStore.isOfEarlier(than: "r", "s.received_at")))
                AND now() < r.requested_at + \(Limit.waitForPurchases) AS is_waiting
            FROM forget_requests r WHERE r.id = \(request.id)
            """)
        return try result.rows.first?.decode(Bool.self) ?? false
    }

    /// What cannot be found any more once names and tokens are gone.
    private func prepare(_ traces: Traces, _ request: ForgetRequestStore.Due) async throws {
        for slice in traces.slices(of: rowsMaximum) {
            try await pool.withTransaction { connection in
                var changed: [String: Int] = [:]
                changed["submissions"] = try await Self.eraseProofs(slice.proofs, on: connection)
                try await Self.voidTokens(of: slice, request, on: connection)
                changed["renewal_statements"] = try await Self.forgetRenewals(of: slice, on: connection)
                changed["events"] = try await Self.forgetMentions(slice, request, on: connection)
                try await ForgetRequestStore.count(changed, of: request, on: connection)
            }
        }
    }

    // The steps are in the order of locks, which the README of Persistence tells.
    @inline(never)
    private func change(_ traces: Traces, _ request: ForgetRequestStore.Due) async throws -> Int {
        try await pool.withTransaction { connection in
            var changed: [String: Int] = [:]
            try await ConsentStore.lock(takesUp: false, on: connection)
            // From then on all this is a new account's where it has the name.
            if !request.isRenamed {
                try await Self.forgetTokens(of: request, &changed, on: connection)
                try await Self.forgetOwners(traces, request, &changed, on: connection)
            }
            try await Self.forgetOrders(traces, request, &changed, on: connection)
            if !request.isRenamed {
                try await Self.forgetLedger(traces, request, &changed, on: connection)
                try await Self.forgetRights(of: request, &changed, on: connection)
                try await Self.forgetEvents(of: request, &changed, on: connection)
                try await Self.forgetCalls(traces, request, &changed, on: connection)
            }
            try await Self.forgetSubmissions(traces, request, &changed, on: connection)
            try await Self.forgetActs(traces, request, &changed, on: connection)
            try await ForgetRequestStore.count(changed, of: request, on: connection)
            return changed.values.reduce(0, +)
        }
    }

    /// Returns when every batch of purchases is over that may have read the name before it was gone.
    ///
    /// Batches share this lock; those that begin meanwhile wait for as long as the ones before them take, as they do for a
    /// rescinded consent.
    private func waitForBatches() async throws {
        try await pool.withTransaction { connection in
            try await connection.executeScript("SET LOCAL lock_timeout = '\(Limit.barrier.wholeMilliseconds)ms'")
            try await ConsentStore.lock(takesUp: true, on: connection)
        }
    }

    @inline(never)
    private func finish(_ request: ForgetRequestStore.Due) async throws {
        try await pool.withTransaction { connection in
            try await ForgetRequestStore.finish(request, on: connection)
        }
    }

    /// When a request was made, in SQL.
    ///
    /// Asked of the row, since a `Date` is not as exact as the database.
    static func moment(_ request: ForgetRequestStore.Due) -> SQL {
        "(SELECT requested_at FROM forget_requests WHERE id = \(request.id))"
    }

    /// How many rows a statement changed, or gave back.
    static func rows(_ sql: SQL, on connection: PostgresConnection) async throws -> Int {
        try await connection.query(sql).affectedRows
    }
}
