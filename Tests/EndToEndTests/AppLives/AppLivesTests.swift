import CountersignClient
import Foundation
import Postgres
import Testing

extension EndToEnd {
    /// The client library's queue on phones that die at any moment, against the real services.
    @Suite("Lives of apps")
    struct AppLivesTests {
        /// How many; `COUNTERSIGN_APP_LIVES` for more.
        private static let count = Int(ProcessInfo.processInfo.environment["COUNTERSIGN_APP_LIVES"] ?? "") ?? 60
        /// The first life's seed; each further one has the next number.
        private static let seed = UInt64(ProcessInfo.processInfo.environment["COUNTERSIGN_APP_LIVES_SEED"] ?? "") ?? 1
        private static let atOnce = 16

        @Test(
            "whatever happens to the app, each paid purchase is granted once to who paid, and no queue keeps anything")
        func lives() async throws {
            try await withLifeStack { place, stack, database in
                // Transactions of doubtful buyers are asked of Apple; its rate is not what is tested.
                try await place.client.control("PUT", "rate-limits", #"{"enabled":false}"#)
                let start = ContinuousClock.now
                async let crashes = Self.crash(stack, database)
                let results = try await Self.live(place)
                let crashCount = try await crashes
                try await place.client.control("PUT", "rate-limits", #"{"enabled":true}"#)
                for life in results {
                    #expect(life.violations.isEmpty, "seed \(life.seed): \(life.violations.joined(separator: "; "))")
                    for purchase in life.purchases where purchase.buyer == nil {
                        Issue.record("seed \(life.seed): \(purchase.id) was bought by nobody")
                    }
                }
                let purchases = results.flatMap(\.purchases)
                try await Self.expectGranted(purchases, database)
                try await Ledger(database, stack).expectCleanAudit()
                #expect(purchases.count > Self.count * 3 / 4, "enough was bought to prove something")
                print(
                    "\(results.count) lives from seed \(Self.seed): \(purchases.count) purchases,",
                    "\(results.map(\.launches).reduce(0, +)) launches, \(results.map(\.kills).reduce(0, +)) kills,",
                    "\(purchases.count { $0.isRefunded }) refunds, \(crashCount) crashes of services,",
                    "in \(ContinuousClock.now - start)")
            }
        }

        private static func live(_ place: LifeStack) async throws -> [AppLife.Result] {
            try await withThrowingTaskGroup(of: AppLife.Result.self) { group in
                var results: [AppLife.Result] = []
                for number in 0..<count {
                    if number >= atOnce, let result = try await group.next() { results.append(result) }
                    group.addTask { try await AppLife(seed: seed + UInt64(number), stack: place).live() }
                }
                for try await result in group { results.append(result) }
                return results
            }
        }

        /// In a long run the services die, too, one after the other and in the middle of their work.
        private static func crash(_ stack: Stack, _ database: Database) async throws -> Int {
            guard count >= 500 else { return 0 }
            let names = ["fulfillment", "receipt-intake", "verification-worker-1", "postgres"]
            for name in names {
                guard try await database.grantsMore(100) else { throw StackFailure("nothing is granted any more") }
                try await stack.crash(name)
            }
            return names.count
        }

        private static func expectGranted(
            _ purchases: [(id: String, buyer: String?, isRefunded: Bool)], _ database: Database
        ) async throws {
            // Many at a time, so that no statement grows with the number of lives.
            for start in stride(from: 0, to: purchases.count, by: 5_000) {
                let part = purchases[start..<min(start + 5_000, purchases.count)]
                let wrong = try await database.rows(
                    """
                    SELECT sold.id, sold.buyer, sold.refunded, coalesce(o.account, 'nobody') AS account,
                        coalesce(o.state, 'no order') AS state,
                        (SELECT count(*) FROM ledger_entries l WHERE l.environment = 'production'
                            AND l.transaction_id = sold.id AND l.amount > 0) AS grants,
                        (SELECT coalesce(sum(l.amount), 0)::int8 FROM ledger_entries l
                            WHERE l.environment = 'production' AND l.transaction_id = sold.id) AS gems
                    FROM unnest($1::text[], $2::text[], $3::text[]) AS sold (id, buyer, refunded)
                    LEFT JOIN orders o ON o.transaction_id = sold.id AND o.environment = 'production'
                    """,
                    [
                        .textArray(part.map(\.id)), .textArray(part.map { $0.buyer ?? "" }),
                        .textArray(part.map { "\($0.isRefunded)" }),
                    ]
                ).filter { row in
                    let buyer = try row.decode("buyer", as: String.self)
                    let owner = try row.decode("account", as: String.self)
                    let grants = try row.decode("grants", as: Int64.self)
                    let gems = try row.decode("gems", as: Int64.self)
                    let isRefunded = try row.decode("refunded", as: String.self) == "true"
                    if owner == buyer, grants == 1, gems == 100 { return false }
                    // What was refunded before it was posted need not have been granted, or be anybody's.
                    return !isRefunded || grants > 1 || owner != buyer && (owner != "nobody" || gems != 0)
                }
                let lines = try wrong.prefix(20).map { row in
                    let id = try row.decode("id", as: String.self)
                    let owner = try row.decode("account", as: String.self)
                    let state = try row.decode("state", as: String.self)
                    return "\(id) of \(try row.decode("buyer", as: String.self)): \(owner), \(state)"
                }
                #expect(wrong.isEmpty, "\(lines.joined(separator: "\n"))")
            }
        }
    }
}
