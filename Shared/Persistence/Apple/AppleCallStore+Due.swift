package import Foundation
import Messages
import Postgres
package import PurchaseModel

/// Calls that are ready, as the workers lease them.
extension AppleCallStore {
    /// A call that is to be made now.
    package struct Due: Sendable {
        package let id: Int64
        package let kind: Kind
        package let environment: StoreEnvironment
        package let app: String
        package let transactionId: String
        /// Attempts made before this one.
        package let attempts: Int
        /// Seconds since it was queued, by the database's clock.
        package let ageSeconds: Double
        /// Seconds until Apple takes no answer any more, or nobody wants the call, below zero where it is late; nil for calls
        /// without a deadline.
        package let secondsLeft: Double?
        /// What ``Kind/consumption`` says.
        package let answer: ConsumptionAnswer?
        /// What ``Kind/accountToken`` sets.
        package let token: UUID?
        /// What ``Kind/extension`` asks for.
        package var extending: RenewalExtension?
        /// Of ``Kind/extension``: whether another attempt was begun of which nobody wrote down what came of it.
        package var wasLeft = false
    }

    /// What came of a call.
    package struct Outcome: Sendable {
        /// What becomes of it.
        package enum Result: Sendable, Hashable {
            /// Apple took it.
            case done
            /// It is made again after so long.
            case retry(after: Duration)
            /// Apple refused it for good.
            case refused
            /// It is too late for it.
            case lapsed
        }

        package let id: Int64
        package let result: Result
        /// Of Apple's answer; nil where there was none.
        package var status: Int?
        /// Apple's number in it.
        package var code: Int64?
        /// For people: why it was not done, in a word.
        package var reason: String?
        /// What was sent, byte for byte.
        package var body: String?
        /// Of Send Consumption Information.
        package var apiVersion: Int?
        /// Of ``Kind/extension``: when the subscription renews now.
        package var renewsAt: Date?

        package init(id: Int64, _ result: Result) {
            self.id = id
            self.result = result
        }

        var state: State {
            switch result {
            case .done: .done
            case .retry: .ready
            case .refused: .refused
            case .lapsed: .lapsed
            }
        }

        var delay: Duration? {
            if case .retry(let delay) = result { delay } else { nil }
        }
    }

    /// Leases calls of a kind that are due, the oldest first.
    ///
    /// - Parameters:
    ///   - apps: those that the caller has a key for; the others' stay due.
    ///   - lease: after how long another attempt may begin if this process dies.
    /// - Throws: `PostgresError`.
    package func claim(_ kind: Kind, apps: [String], limit: Int, lease: Duration) async throws -> [Due] {
        guard !apps.isEmpty else { return [] }
        let result = try await pool.query(
            """
            UPDATE apple_calls c SET due_at = now() + \(lease), attempts = attempts + 1,
                outcome = CASE WHEN c.kind <> 'extension' THEN c.outcome END
            FROM (
                SELECT id, outcome FROM apple_calls WHERE state = 'ready' AND kind = \(kind) AND due_at <= now() AND app = ANY(\(apps))
                ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED) due
            WHERE c.id = due.id
            RETURNING c.id, c.kind, c.environment, c.app, c.transaction_id, c.attempts - 1 AS attempts,
                extract(epoch FROM now() - c.created_at)::float8 AS age_seconds,
                extract(epoch FROM c.deadline_at - now())::float8 AS seconds_left,
                CASE WHEN c.kind = 'consumption' THEN c.answer END AS answer, c.account_token AS token,
                CASE WHEN c.kind = 'extension' THEN c.answer END AS extending,
                c.kind = 'extension' AND c.attempts > 1 AND due.outcome IS NULL AS was_left
            """)
        return try result.map {
            (
                id: Int64, kind: Kind, environment: StoreEnvironment, app: String, transactionId: String,
                attempts: Int, ageSeconds: Double, secondsLeft: Double?, answer: JSONColumn<ConsumptionAnswer>?,
                token: UUID?, extending: JSONColumn<RenewalExtension>?, wasLeft: Bool
            ) in
            Due(
                id: id, kind: kind, environment: environment, app: app, transactionId: transactionId,
                attempts: attempts, ageSeconds: ageSeconds, secondsLeft: secondsLeft, answer: answer?.value,
                token: token, extending: extending?.value, wasLeft: wasLeft)
        }
    }

    /// Writes down what came of calls.
    ///
    /// What was taken back meanwhile and is to be tried again stays taken back; what Apple took is done, whatever happened
    /// meanwhile.
    ///
    /// - Throws: `PostgresError`.
    package func record(_ outcomes: [Outcome]) async throws {
        guard !outcomes.isEmpty else { return }
        _ = try await pool.query(
            """
            UPDATE apple_calls c SET state = new.state, status = new.status, code = new.code, outcome = new.outcome,
                due_at = CASE WHEN new.state = 'ready' THEN now() + new.delay END,
                finished_at = CASE WHEN new.state <> 'ready' THEN now() END,
                body = coalesce(new.body, c.body), api_version = coalesce(new.api_version, c.api_version),
                renews_at = new.renews_at
            FROM unnest(
                \(outcomes.map(\.id)), \(outcomes.map(\.state)), \(outcomes.map(\.delay)), \(outcomes.map(\.status)),
                \(outcomes.map(\.code)), \(outcomes.map(\.reason)), \(outcomes.map(\.body)), \(outcomes.map(\.apiVersion)),
                \(outcomes.map(\.renewsAt)))
                AS new (id, state, delay, status, code, outcome, body, api_version, renews_at)
            WHERE c.id = new.id AND (c.state = 'ready' OR c.state = 'asked' AND new.state = 'done')
            """)
    }

    /// JSON as a column has it.
    static func json(_ value: some Encodable) throws -> String {
        String(decoding: try MessageCoding.encode(value), as: UTF8.self)
    }
}
