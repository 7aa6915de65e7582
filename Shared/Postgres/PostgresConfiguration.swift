import CLibpq

/// Where the database is, and the limits of every connection and of the pool.
///
/// What the connection string itself says (`connect_timeout`, `application_name`, `keepalives…`, `tcp_user_timeout`)
/// wins over the fields below. The password is never printed: not by `description`, not by `dump`.
public struct PostgresConfiguration: Sendable {
    /// A pool never has more connections than this, since each is a thread of this process and a process of the server.
    public static let poolSizeLimit = 64

    /// The connection string's parts, as libpq names them; some are secret.
    private let options: [String: String]

    /// What the server lists this process as (`pg_stat_activity.application_name`).
    ///
    /// Default: `countersign`.
    public var applicationName = "countersign"

    /// The connections a pool makes at most, from 1 to `poolSizeLimit`.
    ///
    /// Default: 8.
    public var poolSizeMaximum = 8

    /// The tasks that may wait for a connection; one more is refused with `tooManyWaiters`.
    ///
    /// Default: 1024.
    public var waitersMaximum = 1024

    /// How long a task waits for a connection to be free.
    ///
    /// Making one may take `connectTimeout` more. Default: 10 s.
    public var leaseTimeout: Duration = .seconds(10)

    /// How long to try each host; libpq counts whole seconds, from 2 up.
    ///
    /// Default: 5 s.
    public var connectTimeout: Duration = .seconds(5)

    /// How long the server works on one statement (`statement_timeout`); zero is for ever.
    ///
    /// Default: 30 s.
    public var statementTimeout: Duration = .seconds(30)

    /// How long the server waits for one lock (`lock_timeout`); zero is for ever.
    ///
    /// Default: 10 s.
    public var lockTimeout: Duration = .seconds(10)

    /// How long a transaction may do nothing before the server ends the connection
    /// (`idle_in_transaction_session_timeout`); zero is for ever.
    ///
    /// Default: 60 s.
    public var idleInTransactionTimeout: Duration = .seconds(60)

    /// How long this process waits for the answer to one statement before it gives the connection up; for a server that
    /// hangs and so does not keep its own limits.
    ///
    /// Must exceed `statementTimeout`; scripts are exempt; zero is for ever. Default: 45 s.
    public var responseTimeout: Duration = .seconds(45)

    /// How long closing the pool waits for leases to come back.
    ///
    /// Default: 30 s.
    public var closeTimeout: Duration = .seconds(30)

    /// The prepared statements kept by each connection; the least recently used gives way.
    ///
    /// Default: 256.
    public var statementCacheCapacity = 256

    /// Whether statements are prepared on their first use and kept prepared by the connection.
    ///
    /// False for a pooler in between that gives each transaction another session and does not know prepared statements,
    /// as PgBouncer before 1.21 in transaction mode. Each statement is then parsed and planned each time. Default: true.
    public var preparesStatements = true

    /// Whether rows are found by an index wherever one leads to them (`enable_seqscan = off`).
    ///
    /// For programs that look rows up and read no table whole. A statement that is prepared while a table, or a partition of a new
    /// month, is empty is planned to read all of it, and the plan is kept until the server gathers statistics. Default: false.
    public var prefersIndexes = false

    /// How long a TCP connection is silent before it is probed.
    ///
    /// Default: 30 s.
    public var tcpKeepaliveIdle: Duration = .seconds(30)

    /// The time between probes.
    ///
    /// Default: 10 s.
    public var tcpKeepaliveInterval: Duration = .seconds(10)

    /// The probes that go unanswered before the connection counts as dead.
    ///
    /// Default: 3.
    public var tcpKeepaliveCount = 3

    /// How long sent data may stay unacknowledged by the peer's system.
    ///
    /// Default: 30 s.
    public var tcpUserTimeout: Duration = .seconds(30)

    /// Reads a connection string.
    ///
    /// - Parameter url: a URI (`postgresql://user:password@host:port/db?sslmode=…`,
    ///   `postgresql:///db?host=/socket/folder&port=5433`) or keywords (`host=… dbname=…`): whatever libpq accepts
    ///   (PostgreSQL manual, 34.1.1). What is not named comes from libpq's environment variables and defaults, but for
    ///   encryption by GSSAPI, which is tried only where `gssencmode` is named.
    /// - Throws: `invalidConfiguration`; the text never quotes the string, since it may hold a password.
    public init(url: String) throws(PostgresError) {
        guard !url.isEmpty, !url.utf8.contains(0) else {
            throw PostgresError(code: .invalidConfiguration, reason: "the connection string is empty or not text")
        }
        guard let parsed = PQconninfoParse(url, nil) else {
            throw PostgresError(code: .invalidConfiguration, reason: "libpq cannot read the connection string")
        }
        defer { PQconninfoFree(parsed) }
        var options: [String: String] = [:]
        var entry = parsed
        while let keyword = entry.pointee.keyword {
            if let value = entry.pointee.val { options[String(cString: keyword)] = String(cString: value) }
            entry += 1
        }
        self.options = options
    }

    /// The connection string for libpq: what the URL said, and our values for what it did not say.
    var connectionString: String {
        var all = options
        func setUnlessGiven(_ keyword: String, _ value: String) {
            if all[keyword] == nil { all[keyword] = value }
        }
        // libpq takes 1 second as 2 and 0 as for ever.
        setUnlessGiven("connect_timeout", String(max(2, connectTimeout.wholeSeconds)))
        setUnlessGiven("application_name", applicationName)
        // libpq looks for Kerberos tickets with each connection otherwise, and their library aborts a process that ends meanwhile.
        setUnlessGiven("gssencmode", "disable")
        setUnlessGiven("keepalives", "1")
        setUnlessGiven("keepalives_idle", String(tcpKeepaliveIdle.wholeSeconds))
        setUnlessGiven("keepalives_interval", String(tcpKeepaliveInterval.wholeSeconds))
        setUnlessGiven("keepalives_count", String(tcpKeepaliveCount))
        setUnlessGiven("tcp_user_timeout", String(tcpUserTimeout.wholeMilliseconds))
        // Everything here is read and written as UTF-8, whatever the URL says.
        all["client_encoding"] = "UTF8"
        return all.map { "\($0.key)='\(Self.quoted($0.value))'" }.joined(separator: " ")
    }

    /// What a new connection is told first.
    ///
    /// Not by the `options` keyword, which poolers between us and the server drop. Statements here are short and look things up:
    /// compiling them (`jit`) costs more than it saves.
    var sessionSettings: String {
        """
        SET statement_timeout = \(statementTimeout.wholeMilliseconds);
        SET lock_timeout = \(lockTimeout.wholeMilliseconds);
        SET idle_in_transaction_session_timeout = \(idleInTransactionTimeout.wholeMilliseconds);
        SET TimeZone = 'UTC';
        SET enable_seqscan = \(prefersIndexes ? "off" : "on");
        SET jit = off
        """
    }

    /// Takes the passwords out of a text that came from libpq.
    func redacted(_ text: String) -> String {
        var text = text
        for keyword in ["password", "sslpassword"] {
            guard let secret = options[keyword], !secret.isEmpty else { continue }
            text = text.split(separator: secret, omittingEmptySubsequences: false).joined(separator: "<redacted>")
        }
        return text
    }

    private static func quoted(_ value: String) -> String {
        value.reduce(into: "") { text, character in
            if character == "'" || character == "\\" { text.append("\\") }
            text.append(character)
        }
    }
}

extension PostgresConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The parts that are not secret, as `host=… port=… dbname=… user=… sslmode=…`.
    public var description: String {
        let shown = ["host", "hostaddr", "port", "dbname", "user", "sslmode", "target_session_attrs"]
        var parts = shown.compactMap { keyword in options[keyword].map { "\(keyword)=\($0)" } }
        if options["password"] != nil { parts.append("password=<redacted>") }
        return parts.joined(separator: " ")
    }

    /// The same as `description`.
    public var debugDescription: String { description }

    /// Shows `description` only, so that `dump` prints no secret.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension Duration {
    /// Rounded up, so that a limit below a second does not become none; never negative.
    fileprivate var wholeSeconds: Int64 {
        let (seconds, attoseconds) = components
        return max(0, seconds + (attoseconds > 0 ? 1 : 0))
    }

    /// Rounded up; never negative, and never more than the server's 32 bits.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let limit = Int64(Int32.max)
        if seconds >= limit / 1000 { return limit }
        return max(0, seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
