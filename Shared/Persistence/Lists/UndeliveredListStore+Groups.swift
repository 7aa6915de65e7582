package import Foundation
import Postgres
package import PurchaseModel

/// How much is paid and not delivered, for which reasons.
extension UndeliveredListStore {
    /// How many, for one reason.
    package struct Group: Sendable, Hashable {
        package let stage: Stage
        /// Nil where it is not known yet.
        package let environment: StoreEnvironment?
        package let reason: ReasonCode
        /// At most ``Limit/count``.
        package let count: Int64
        /// Since when the oldest of them has been so.
        package let oldest: Date
        /// By the database's clock.
        package let oldestSeconds: Double

        /// Whether there may be more.
        package var isAtLeast: Bool { count >= Int64(Limit.count) }
        /// False of what Apple told of, or stood in somebody's receipt: whoever bought it posts it, and gets it.
        package var needsSomebody: Bool { stage != .parked || reason != .unclaimed }

        init(_ row: PostgresRow) throws {
            stage = try row.known("stage")
            environment = try row.decodeIfPresent("environment", as: String.self).flatMap {
                StoreEnvironment(rawValue: $0)
            }
            reason = ReasonCode(rawValue: try row.decode("reason"))
            count = try row.decode("count")
            oldest = try row.decode("oldest")
            oldestSeconds = try row.decode("oldest_seconds")
        }
    }

    /// The groups of all stages, in their order; the reason of the selection is not asked for.
    ///
    /// - Throws: `PostgresError`.
    package func groups(_ selection: Selection) async throws -> [Group] {
        try await ListLook.read(pool) { try await $0.query(Self.groupsStatement(selection)).rows.map(Group.init) }
    }

    private static func groupsStatement(_ selection: Selection) -> SQL {
        """
        SELECT stage, environment, reason, count, oldest, greatest(extract(epoch FROM now() - oldest), 0)::float8 AS oldest_seconds
        FROM (\(groupStatements(selection).joined(separator: " UNION ALL "))) groups WHERE count > 0
        ORDER BY place, environment, reason
        """
    }

    static func groupStatements(_ selection: Selection) -> [SQL] {
        (selection.environment.map { [$0] } ?? StoreEnvironment.allCases).map { parkedGroups(selection, $0) } + [
            """
            SELECT 2 AS place, 'undecided' AS stage, NULL::text AS environment, reason, count(*) AS count, min(since) AS oldest
            FROM (\(waiting(selection)) ORDER BY \(SubmissionStore.unsettledSince) LIMIT \(unescaped: "\(Limit.count)")) undecided GROUP BY reason
            """,
            """
            SELECT 3, 'untold', environment, min(reason), count(*), min(since)
            FROM (\(untoldEvents(selection, after: nil))) untold GROUP BY environment
            """,
        ]
    }

    /// From one reason to the next; each from its oldest row on.
    private static func parkedGroups(_ selection: Selection, _ environment: StoreEnvironment) -> SQL {
        """
        (WITH RECURSIVE \(ParkedReasons.ofApp(selection.app, in: environment))
        SELECT 1 AS place, 'parked' AS stage, \(environment)::text AS environment, reason, counted.count, counted.oldest
        FROM parked_reasons CROSS JOIN LATERAL (
            SELECT count(*) AS count, min(since) AS oldest FROM (
                SELECT created_at AS since FROM orders
                WHERE \(ParkedReasons.isParked) AND app = \(selection.app) AND environment = \(environment)
                    AND reason = parked_reasons.reason AND created_at <= now() - \(selection.olderThan)
                ORDER BY created_at LIMIT \(unescaped: "\(Limit.count)")) found
        ) counted)
        """
    }
}
