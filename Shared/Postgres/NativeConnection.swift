import CLibpq
import Glibc

/// A `PGconn` and the exchange with its server.
///
/// Not `Sendable`: it belongs to one actor, hence to one thread.
///
/// libpq is used in its non-blocking form, so that an answer that never comes costs a time-out and not the thread, and
/// so that `PQfinish` in `deinit` waits for nobody. An exchange that goes wrong in the middle ends the connection: what
/// is left on the wire must not be taken for the next answer.
final class NativeConnection {
    private let pointer: OpaquePointer
    private var isBroken = false

    private init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    /// Connects; blocks until it is done or has failed.
    ///
    /// - Throws: `connectionFailed`.
    static func connect(_ configuration: PostgresConfiguration) throws(PostgresError) -> NativeConnection {
        guard let pointer = PQconnectdb(configuration.connectionString) else {
            throw PostgresError(code: .connectionFailed, reason: "libpq is out of memory", wasSent: false)
        }
        let connection = NativeConnection(owning: pointer)
        guard PQstatus(pointer) == CONNECTION_OK, PQsetnonblocking(pointer, 1) == 0 else {
            let message = Self.explained(configuration.redacted(Self.message(pointer)))
            throw PostgresError(
                code: .connectionFailed, reason: "no connection", serverMessage: message, wasSent: false)
        }
        // libpq prints notices to stderr otherwise.
        PQsetNoticeReceiver(pointer, { _, _ in }, nil)
        return connection
    }

    deinit { PQfinish(pointer) }

    /// Where the session stands.
    enum TransactionState {
        case idle, open, failed, unknown
    }

    var transactionState: TransactionState {
        if isBroken { return .unknown }
        switch PQtransactionStatus(pointer) {
        case PQTRANS_IDLE: return .idle
        case PQTRANS_INTRANS: return .open
        case PQTRANS_INERROR: return .failed
        default: return .unknown
        }
    }

    var isAlive: Bool { !isBroken && PQstatus(pointer) == CONNECTION_OK }

    /// Looks, without waiting, whether the server has ended an idle connection.
    func noticeDeath() {
        // Each turn reads what has come (notices, changed settings, a farewell); normally there is none. Bounded, since
        // a server that keeps talking is alive.
        for _ in 0..<16 {
            guard isAlive, isReadable else { return }
            if PQconsumeInput(pointer) == 0 { isBroken = true }
            // Takes in the server's farewell; there is no answer to wait for.
            _ = PQisBusy(pointer)
        }
    }

    private var isReadable: Bool {
        var descriptor = pollfd(fd: PQsocket(pointer), events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) > 0
    }

    /// Sends SQL by the simple protocol; several statements are allowed, results come as text.
    func sendScript(_ sql: String) -> Bool { PQsendQuery(pointer, sql) == 1 }

    func sendPrepare(_ sql: String, name: String, types: [UInt32]) -> Bool {
        PQsendPrepare(pointer, name, sql, Int32(clamping: types.count), types) == 1
    }

    func sendPrepared(_ name: String, _ parameters: borrowing ParameterBuffer) -> Bool {
        let count = Int32(clamping: parameters.types.count)
        let lengths = parameters.lengths
        let formats = parameters.formats
        return parameters.withValues { PQsendQueryPrepared(pointer, name, count, $0, lengths, formats, 1) == 1 }
    }

    /// Sends one statement that stays unprepared: all of it is one exchange, which a pooler does not take apart.
    func sendUnprepared(_ sql: String, _ parameters: borrowing ParameterBuffer) -> Bool {
        let count = Int32(clamping: parameters.types.count)
        let types = parameters.types
        let lengths = parameters.lengths
        let formats = parameters.formats
        return parameters.withValues { PQsendQueryParams(pointer, sql, count, types, $0, lengths, formats, 1) == 1 }
    }

    /// The error of a `send…` that returned false: libpq refused, or the connection is gone.
    ///
    /// Nothing took effect.
    func sendFailure() -> PostgresError {
        if PQstatus(pointer) == CONNECTION_OK, PQtransactionStatus(pointer) != PQTRANS_ACTIVE {
            return PostgresError(
                code: .statementFailed, reason: "libpq refused the statement", serverMessage: Self.message(pointer),
                wasSent: false)
        }
        isBroken = true
        return PostgresError(code: .connectionLost, reason: "the connection is gone", wasSent: false)
    }

    /// Reads the whole answer to what was sent.
    ///
    /// - Parameters:
    ///   - timeout: in milliseconds for all of it; zero waits for ever.
    ///   - handle: takes each successful result.
    /// - Throws: the first error of the answer, after all of it has been read; `connectionLost` when it did not come.
    func readAnswer(
        timeout: Int64, _ handle: (borrowing NativeResult) -> Void
    ) throws(PostgresError) {
        let deadline = timeout == 0 ? nil : ContinuousClock.now + .milliseconds(timeout)
        var failure: PostgresError?
        try flush(deadline)
        while true {
            try awaitResult(deadline)
            guard let next = PQgetResult(pointer) else { break }
            let result = NativeResult(owning: next)
            switch result.kind {
            case .success: handle(result)
            case .failure: if failure == nil { failure = statementFailure(result) }
            case .copy:
                // Its data phase would never end here (psycopg's note on PQgetResult), so the connection is given up.
                isBroken = true
                throw PostgresError(code: .statementFailed, reason: "COPY is not supported; the connection is closed")
            }
        }
        if PQstatus(pointer) != CONNECTION_OK {
            isBroken = true
            throw PostgresError(
                code: .connectionLost, reason: "the server ended the connection", sqlState: failure?.sqlState,
                serverMessage: failure?.serverMessage ?? Self.message(pointer))
        }
        if let failure { throw failure }
    }

    private func statementFailure(_ result: borrowing NativeResult) -> PostgresError {
        PostgresError(
            code: .statementFailed, reason: "the server refused the statement", sqlState: result.field(.sqlState),
            constraintName: result.field(.constraint), serverMessage: result.field(.message))
    }

    /// Writes what libpq holds.
    ///
    /// While the server's buffer is full it may be writing to us, so both ways are watched.
    private func flush(_ deadline: ContinuousClock.Instant?) throws(PostgresError) {
        while true {
            switch PQflush(pointer) {
            case 0: return
            case 1:
                let events = try wait(for: POLLIN | POLLOUT, until: deadline)
                if events & Int16(POLLIN) != 0 { _ = PQconsumeInput(pointer) }
            default:
                // The farewell of a dying server may be waiting to be read; `readAnswer` finds out.
                return
            }
        }
    }

    private func awaitResult(_ deadline: ContinuousClock.Instant?) throws(PostgresError) {
        while PQisBusy(pointer) == 1 {
            _ = try wait(for: POLLIN, until: deadline)
            // On failure libpq has the error ready as a result, and is no longer busy.
            if PQconsumeInput(pointer) == 0 { return }
        }
    }

    /// - Returns: the events that came.
    private func wait(
        for events: Int32, until deadline: ContinuousClock.Instant?
    ) throws(PostgresError) -> Int16 {
        while true {
            var descriptor = pollfd(fd: PQsocket(pointer), events: Int16(events), revents: 0)
            var timeout: Int32 = -1
            if let deadline { timeout = Int32(clamping: (deadline - .now).wholeMilliseconds) }
            let count = poll(&descriptor, 1, timeout)
            if count > 0 { return descriptor.revents }
            if count == 0 {
                isBroken = true
                throw PostgresError(code: .connectionLost, reason: "the server did not answer in time")
            }
            if errno != EINTR {
                isBroken = true
                throw PostgresError(code: .connectionLost, reason: "the connection's socket cannot be watched")
            }
        }
    }

    /// What libpq said of a failed attempt, and what it leaves out: OpenSSL's reason why a certificate was not believed.
    static func explained(_ message: String) -> String {
        guard message.contains("certificate verify failed") else { return message }
        return message + " (the server's certificate has expired, or is of no authority in sslrootcert)"
    }

    private static func message(_ pointer: OpaquePointer) -> String {
        let text = PQerrorMessage(pointer).map { String(cString: $0) } ?? ""
        return text.split(separator: "\n").joined(separator: " ")
    }
}
