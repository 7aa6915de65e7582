/// What went wrong between this process and PostgreSQL.
///
/// `description` is safe to show: it holds codes, constraint names, and the server's message only where that message
/// cannot contain a value. `debugDescription` adds the server's message in every case, so it is for development alone.
public struct PostgresError: Error, Sendable {
    /// What kind of failure it is; decide by this and by `sqlState`, never by text.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Name: String {
            case invalidConfiguration, connectionFailed, connectionLost, leaseTimedOut, tooManyWaiters, poolClosed
            case statementFailed, staleStatement, transactionAborted, transactionEnded, decodingFailed
        }

        private let name: Name

        /// The connection string cannot be read.
        public static let invalidConfiguration = Code(name: .invalidConfiguration)
        /// No connection could be made; nothing was sent.
        public static let connectionFailed = Code(name: .connectionFailed)
        /// An established connection died; whether the statement or the COMMIT took effect is unknown.
        public static let connectionLost = Code(name: .connectionLost)
        /// Every connection of the pool stayed busy for longer than `leaseTimeout`.
        public static let leaseTimedOut = Code(name: .leaseTimedOut)
        /// As many tasks as `waitersMaximum` allows wait for a connection already.
        public static let tooManyWaiters = Code(name: .tooManyWaiters)
        /// The pool, or the connection, was closed.
        public static let poolClosed = Code(name: .poolClosed)
        /// The server refused the statement; `sqlState` says why, and the connection is still good.
        public static let statementFailed = Code(name: .statementFailed)
        /// A prepared statement met a changed schema inside a transaction; running the whole again prepares it anew.
        public static let staleStatement = Code(name: .staleStatement)
        /// A statement had failed before COMMIT although the body went on; everything was rolled back.
        public static let transactionAborted = Code(name: .transactionAborted)
        /// The body ended the transaction itself (COMMIT or ROLLBACK inside `withTransaction`).
        public static let transactionEnded = Code(name: .transactionEnded)
        /// A column is absent, NULL, or of another type than was asked for.
        public static let decodingFailed = Code(name: .decodingFailed)

        /// The name of the code, as in the source.
        public var description: String { name.rawValue }
    }

    /// Behind a reference, so that a typed throw hands over one word.
    private final class Storage: Sendable {
        let code: Code
        let reason: String
        let sqlState: String?
        let constraintName: String?
        let serverMessage: String?
        let wasSent: Bool

        init(
            code: Code, reason: String, sqlState: String?, constraintName: String?, serverMessage: String?,
            wasSent: Bool
        ) {
            self.code = code
            self.reason = reason
            self.sqlState = sqlState
            self.constraintName = constraintName
            self.serverMessage = serverMessage
            self.wasSent = wasSent
        }
    }

    private let storage: Storage

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: what kind of failure it is.
    ///   - reason: a sentence that is safe to show.
    ///   - sqlState: the server's five-character code.
    ///   - constraintName: the constraint that was violated.
    ///   - serverMessage: the server's words; shown only where they cannot contain a value.
    public init(
        code: Code, reason: String, sqlState: String? = nil, constraintName: String? = nil,
        serverMessage: String? = nil
    ) {
        self.init(
            code: code, reason: reason, sqlState: sqlState, constraintName: constraintName,
            serverMessage: serverMessage, wasSent: true)
    }

    init(
        code: Code, reason: String, sqlState: String? = nil, constraintName: String? = nil,
        serverMessage: String? = nil, wasSent: Bool
    ) {
        storage = Storage(
            code: code, reason: reason, sqlState: sqlState, constraintName: constraintName,
            serverMessage: serverMessage, wasSent: wasSent)
    }

    /// What kind of failure it is.
    public var code: Code { storage.code }

    /// The server's five-character code (PostgreSQL manual, appendix A); nil when the server said nothing.
    public var sqlState: String? { storage.sqlState }

    /// The constraint that was violated, for SQLSTATEs of class 23.
    public var constraintName: String? { storage.constraintName }

    /// The server's words, which may quote a value.
    var serverMessage: String? { storage.serverMessage }

    /// False where the statement certainly never left this process, so that another connection may be tried.
    var wasSent: Bool { storage.wasSent }

    /// Whether an established connection died, so that the outcome is unknown.
    public var isConnectionLoss: Bool { storage.code == .connectionLost }

    /// Whether the whole transaction is to be run again at once: serialization failure (40001), deadlock (40P01), or a
    /// schema that changed under a prepared statement.
    public var isTransactionConflict: Bool {
        sqlState == "40001" || sqlState == "40P01" || storage.code == .staleStatement
    }

    /// Whether the same work may succeed later: trouble with connections, a busy pool, conflicts with other
    /// transactions, time limits, and a server that stops, starts, or lacks resources.
    ///
    /// Safe to act on only because every write of ours is idempotent by a constraint: after `connectionLost` the first
    /// attempt may have taken effect.
    public var isRetriable: Bool {
        switch storage.code {
        case .connectionFailed, .connectionLost, .leaseTimedOut, .tooManyWaiters, .staleStatement: true
        case .statementFailed, .transactionAborted: isRetriableState
        default: false
        }
    }

    private var isRetriableState: Bool {
        guard let sqlState else { return false }
        switch sqlState {
        case "40001", "40P01", "55P03", "25006", "25P03": return true
        default: return ["08", "53", "57", "58"].contains(sqlState.prefix(2))
        }
    }

    /// Whether the server's primary message of this class names only objects and syntax, never a value.
    private var isMessageSafe: Bool {
        guard let sqlState else { return storage.code != .statementFailed }
        return ["08", "0A", "23", "25", "28", "3D", "40", "42", "53", "55", "57"].contains(sqlState.prefix(2))
    }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible {
    /// The failure without any value of a parameter; safe for logs and answers.
    public var description: String { text(withServerMessage: isMessageSafe) }

    /// The failure with the server's message, which may quote a value; for development.
    public var debugDescription: String { text(withServerMessage: true) }

    private func text(withServerMessage: Bool) -> String {
        var text = "\(storage.code): \(storage.reason)"
        if let sqlState { text += " [SQLSTATE \(sqlState)]" }
        if let constraintName { text += " [constraint \(constraintName)]" }
        if withServerMessage, let message = storage.serverMessage { text += ": \(message)" }
        return text
    }
}
