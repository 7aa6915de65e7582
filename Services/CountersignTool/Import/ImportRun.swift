import Crypto
import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel

/// Posts the lines of a file as submissions, never more at a time than the services take up beside the players'.
///
/// A batch is posted first and then written down, with how far the import has come: whoever is killed between the two posts
/// it again, which are the same submissions.
struct ImportRun: Sendable {
    enum Limit {
        /// Submissions without an outcome, unless the operator says otherwise.
        static let inFlight = 2_000
        /// Those of them that need a question to Apple, which answers 50 a second; players ask, too.
        static let lookupsInFlight = 250
        /// After how long one without an outcome does not count any more: it waits for Apple.
        static let patience = Duration.seconds(60)
        /// Between two looks at what has an outcome by now.
        static let pause = Duration.milliseconds(50)
        /// Between two looks at the rest, in the end.
        static let restPause = Duration.milliseconds(500)
        /// After how long without any outcome the reader is told.
        static let silence = Duration.seconds(30)
        /// Between two lines of progress.
        static let progress = Duration.seconds(2)
        /// Between two looks for certificate chains that need not be written with every proof.
        static let headers = Duration.seconds(10)
    }

    let pool: PostgresPool
    let reader: ImportReader
    let app: String
    let environment: StoreEnvironment?
    /// Submissions without an outcome at a time.
    var inFlight = Limit.inFlight
    /// Is told how it goes on, for a person.
    let tell: @Sendable (String) -> Void

    private var store: ImportStore { ImportStore(pool: pool) }

    /// Posts what an import has not yet.
    ///
    /// - Throws: `ToolFailure` where another process imports the same file; `PostgresError`, and what reading the file gives.
    func run(_ started: ImportStore.Import) async throws {
        let headers = ProofHeaders()
        try await headers.refresh(from: pool)
        var refreshed = ContinuousClock.now
        let submissions = SubmissionStore(pool: pool, headers: headers)
        var flight = ImportFlight()
        var progress = ImportProgress(done: started.linesDone)
        var done = started.linesDone
        var isLast = false
        while !isLast {
            let batch = try await reader.next(after: done)
            let posted = try await post(batch, of: started.id, to: submissions, &flight)
            guard
                try await store.record(posted, through: batch.end, of: started.id, after: done, isLast: batch.isLast)
            else { throw ToolFailure("another process imports the same file: import \(started.id)") }
            (done, isLast) = (batch.end, batch.isLast)
            if ContinuousClock.now > refreshed + Limit.headers {
                try await headers.refresh(from: pool)
                refreshed = ContinuousClock.now
            }
            progress.note(posted, done: done)
            if let line = progress.line(waiting: flight.count) { tell(line) }
        }
        tell("\(done) lines are read")
    }

    /// Waits until everything has an outcome, as long as outcomes come.
    ///
    /// - Parameter patience: how long without one.
    /// - Returns: how many submissions have none.
    /// - Throws: `PostgresError`.
    func waitForOutcomes(of id: Int64, patience: Duration) async throws -> Int64 {
        var left = try await store.unsettledCount(of: id)
        var (changed, told) = (ContinuousClock.now, ContinuousClock.now)
        var said: Int64 = 0
        while left > 0, ContinuousClock.now < changed + patience {
            // Outcomes are written by other processes; there is no signal to wait for.
            try await Task.sleep(for: Limit.restPause)
            let now = try await store.unsettledCount(of: id)
            if now != left { (left, changed) = (now, ContinuousClock.now) }
            if ContinuousClock.now > told + Limit.progress, left > 0, left != said {
                (told, said) = (ContinuousClock.now, left)
                tell("\(left) without an outcome yet")
            }
        }
        return left
    }

    // MARK: - One batch

    /// - Returns: its lines, as they are to be written down.
    private func post(
        _ batch: ImportReader.Batch, of id: Int64, to store: SubmissionStore, _ flight: inout ImportFlight
    ) async throws -> [ImportStore.Line] {
        let taken = try await takenTokens(batch)
        var lines: [ImportStore.Line] = []
        var submissions: [String: SubmissionStore.NewSubmission] = [:]
        for entry in batch.entries {
            switch entry.record {
            case .success(let record) where !taken.contains(entry.number):
                let submission = submission(record, "import-\(id)-\(entry.number)")
                submissions[submission.message.submissionId] = submission
                lines.append(
                    ImportStore.Line(
                        number: entry.number,
                        content: .posted(submissionId: submission.message.submissionId, record.claim)))
            case .success: lines.append(Self.refused(entry.number, .tokenOfAnother))
            case .failure(let flaw): lines.append(Self.refused(entry.number, flaw))
            }
        }
        try await makeRoom(in: &flight)
        let new = submissions.values.sorted { $0.message.submissionId < $1.message.submissionId }
        guard !new.isEmpty else { return lines }
        // Due at once: receipt-intake sends them, as it does whatever is due.
        let accepted = try await store.accept(new, lease: .zero)
        flight.add(
            new.map(\.message).filter { message in
                accepted.existing[message.submissionId].map { $0.outcome == nil } ?? true
            })
        return lines
    }

    private static func refused(_ number: Int64, _ flaw: ImportFlaw) -> ImportStore.Line {
        ImportStore.Line(number: number, content: .refused(flaw: flaw.code, detail: flaw.detail))
    }

    /// Registers the tokens of a batch, before what was bought with them is posted.
    ///
    /// - Returns: the lines whose token is another account's.
    private func takenTokens(_ batch: ImportReader.Batch) async throws -> Set<Int64> {
        var claimed: [(number: Int64, token: AppToken, account: Account)] = []
        for entry in batch.entries {
            guard case .success(let record) = entry.record, let token = record.token, let account = record.account
            else {
                continue
            }
            claimed.append((entry.number, AppToken(app: app, token: token), account))
        }
        let owners = try await AccountTokenStore(pool: pool).register(
            Dictionary(claimed.map { ($0.token, $0.account) }) { first, _ in first })
        return Set(claimed.filter { owners[$0.token] != $0.account }.map(\.number))
    }

    private func makeRoom(in flight: inout ImportFlight) async throws {
        var lastOutcome = ContinuousClock.now
        while !flight.hasRoom(inFlight) {
            let waiting = flight.ids
            let unsettled = try await store.unsettled(of: waiting)
            if flight.keep(unsettled, now: ContinuousClock.now) { lastOutcome = ContinuousClock.now }
            if flight.hasRoom(inFlight) { return }
            if ContinuousClock.now > lastOutcome + Limit.silence {
                lastOutcome = ContinuousClock.now
                tell(
                    "no outcome for \(Limit.silence): are receipt-intake, verification-worker and fulfillment running?")
            }
            try await Task.sleep(for: Limit.pause)
        }
    }

    // MARK: - Submissions

    private func submission(_ record: ImportRecord, _ correlationId: String) -> SubmissionStore.NewSubmission {
        let account = record.account?.text ?? ""
        let key = record.claim.transactionId ?? (account.isEmpty ? correlationId : account)
        return SubmissionStore.NewSubmission(
            message: SubmissionMessage(
                submissionId: Self.identifier(record, app: app), app: app, account: account, kind: record.kind,
                proof: record.proof, attempt: 0, correlationId: correlationId,
                namedTransactionId: record.namedTransactionId, expectedEnvironment: record.environment ?? environment),
            partitionKey: key, isServer: record.account != nil, isImported: true)
    }

    /// A hash of what is posted, and never that of a post: what a player posts is judged by the player's own evidence.
    static func identifier(_ record: ImportRecord, app: String) -> String {
        var hash = SHA256()
        let parts = [
            "imported", app, record.account?.text ?? "", record.kind.rawValue, record.proof,
            record.namedTransactionId ?? "",
        ]
        for part in parts {
            withUnsafeBytes(of: UInt64(part.utf8.count).bigEndian) { hash.update(bufferPointer: $0) }
            hash.update(data: Array(part.utf8))
        }
        let digits = hash.finalize().prefix(16).map { byte in
            let text = String(byte, radix: 16)
            return text.count == 1 ? "0" + text : text
        }
        return "sub_" + digits.joined()
    }
}

/// What is posted and has no outcome yet, as far as anybody knows.
struct ImportFlight {
    private var offline: [String: ContinuousClock.Instant] = [:]
    private var lookups: [String: ContinuousClock.Instant] = [:]

    var count: Int { offline.count + lookups.count }
    var ids: [String] { Array(offline.keys) + Array(lookups.keys) }

    /// Whether another batch may be posted, where so many may be without an outcome.
    func hasRoom(_ limit: Int) -> Bool {
        count < limit && lookups.count < ImportRun.Limit.lookupsInFlight
    }

    mutating func add(_ messages: [SubmissionMessage], now: ContinuousClock.Instant = .now) {
        for message in messages {
            if message.kind == .transactionId || message.kind == .orderId {
                lookups[message.submissionId] = now
            } else {
                offline[message.submissionId] = now
            }
        }
    }

    /// Forgets what has an outcome, and what has waited for so long that it waits for Apple.
    ///
    /// - Returns: whether anything had an outcome.
    mutating func keep(_ unsettled: Set<String>, now: ContinuousClock.Instant) -> Bool {
        let before = count
        offline = offline.filter { unsettled.contains($0.key) }
        lookups = lookups.filter { unsettled.contains($0.key) }
        let hasOutcomes = count < before
        offline = offline.filter { now < $0.value + ImportRun.Limit.patience }
        lookups = lookups.filter { now < $0.value + ImportRun.Limit.patience }
        return hasOutcomes
    }
}

/// How far an import has come, told now and then.
struct ImportProgress {
    private let start = ContinuousClock.now
    private let first: Int64
    private var done: Int64
    private var refused = 0
    private var told = ContinuousClock.now

    init(done: Int64) {
        (first, self.done) = (done, done)
    }

    mutating func note(_ lines: [ImportStore.Line], done: Int64) {
        self.done = done
        refused += lines.count { if case .refused = $0.content { true } else { false } }
    }

    /// Nil where one was told just now.
    mutating func line(waiting: Int) -> String? {
        let now = ContinuousClock.now
        guard now > told + ImportRun.Limit.progress else { return nil }
        told = now
        let seconds = max(0.001, (now - start) / .seconds(1))
        let pace = ToolOutput.number(Double(done - first) / seconds, digits: 0)
        return "\(done) lines read, \(waiting) without an outcome, \(refused) refused, \(pace) lines a second"
    }
}
