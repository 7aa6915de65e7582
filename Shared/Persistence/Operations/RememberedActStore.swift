import Messages
package import Postgres

/// The table `remembered_acts`: what acts were answered that a caller named, so that a repetition does nothing more.
///
/// It works within `PostgresPool.withJoinedTransaction`, in the transaction of the act.
package struct RememberedActStore: Sendable {
    package enum Limit {
        /// How long an act is remembered at least.
        package static let age = Duration.seconds(24 * 3600)
        /// UTF-8 bytes of an answer's body: the longest is of 1,000 submissions.
        package static let bodyBytes = 512 << 10
    }

    /// A request, by nothing that could name an account.
    package struct Request: Sendable {
        /// The app's bundle id.
        package let app: String
        /// SHA-256 of the caller's name of it, in hexadecimal digits.
        package let keySHA256: String
        /// SHA-256 of all that makes it another request, in hexadecimal digits.
        package let sha256: String
        /// The route's method and path, with the parameters' names.
        package let route: String

        /// Makes one.
        package init(app: String, keySHA256: String, sha256: String, route: String) {
            self.app = app
            self.keySHA256 = keySHA256
            self.sha256 = sha256
            self.route = route
        }
    }

    /// What a caller was told; the body may be sealed.
    package struct Answer: Sendable, Equatable {
        package let status: Int
        package let headers: [String: String]
        package let body: String

        /// Makes one.
        package init(status: Int, headers: [String: String], body: String) {
            self.status = status
            self.headers = headers
            self.body = body
        }
    }

    /// What is known of a request.
    package enum Known: Sendable, Equatable {
        /// Nothing: whoever asked may act, and nobody else does until the transaction ends.
        case new
        /// It was answered.
        case answered(Answer)
        /// Another request has the key.
        case keyReused
        /// Somebody else acts on it now.
        case underWay
    }

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Looks a request up, and takes its key until the transaction ends.
    ///
    /// - Throws: `PostgresError`.
    package func take(_ request: Request) async throws -> Known {
        // Asked before the row is read: whoever had the key until now has committed.
        let lock = try await pool.query(
            "SELECT pg_try_advisory_xact_lock(hashtextextended(\(request.app) || E'\\n' || \(request.keySHA256), \(Self.lockSeed)))"
        )
        guard let isTaken = try lock.rows.first?.decode(Bool.self), isTaken else { return .underWay }
        let result = try await pool.query(
            """
            SELECT request_sha256, status, headers, body FROM remembered_acts
            WHERE app = \(request.app) AND key_sha256 = \(request.keySHA256)
            """)
        guard let row = result.rows.first else { return .new }
        let (sha256, status, headers, body) = try row.decode((String, Int, JSONColumn<[String: String]>, String).self)
        guard sha256 == request.sha256 else { return .keyReused }
        return .answered(Answer(status: status, headers: headers.value, body: body))
    }

    /// Writes down what a request was answered, or that its answer is another one by now.
    ///
    /// - Throws: `PostgresError`.
    package func remember(_ answer: Answer, of request: Request) async throws {
        let headers = String(decoding: try MessageCoding.encode(answer.headers), as: UTF8.self)
        _ = try await pool.query(
            """
            INSERT INTO remembered_acts (app, key_sha256, request_sha256, route, status, headers, body)
            VALUES (\(request.app), \(request.keySHA256), \(request.sha256), \(request.route), \(answer.status),
                \(json: headers), \(answer.body))
            ON CONFLICT (app, key_sha256)
                DO UPDATE SET status = excluded.status, headers = excluded.headers, body = excluded.body
            """)
    }

    /// Removes acts that are older than ``Limit/age``, the oldest first.
    ///
    /// - Returns: how many; fewer than the limit where no more is to be removed.
    /// - Throws: `PostgresError`.
    package func removeOld(limit: Int) async throws -> Int {
        let result = try await pool.query(
            """
            DELETE FROM remembered_acts WHERE (app, key_sha256) IN (
                SELECT app, key_sha256 FROM remembered_acts WHERE created_at < now() - \(Limit.age)
                ORDER BY created_at LIMIT \(limit))
            """)
        return result.affectedRows
    }

    /// Keeps its advisory locks apart from others of 64 bits.
    private static let lockSeed: Int64 = 0x6163_7473
}
