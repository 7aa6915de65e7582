import Persistence
import Postgres
import PurchaseModel

/// Looks at the database: the server, the schema, what is late, and whether the tables agree.
struct DatabaseCheck: Sendable {
    let pool: PostgresPool
    /// How long after its time something may be due: services take a moment, and leases pass.
    let grace: Duration
    /// Whether the tables are compared, which reads them whole; nil where that takes seconds, as far as orders go.
    let comparesTables: Bool?
    /// Orders up to which the tables are compared by every doctor: some twenty seconds, by what ten million took.
    var comparedOrdersMaximum: Int64 = 200_000
    /// How long an event may wait for the notification service; fulfillment's setting.
    var eventAge = EventStore.WaitingLimit.ageDefault

    /// The findings; the first failure to reach the server ends it.
    ///
    /// - Throws: `PostgresError` when the server stops answering.
    func run() async throws -> [Finding] {
        let backlog = BacklogStore(pool: pool)
        var findings = [Self.judge(try await backlog.serverSettings())]
        do {
            let schema = try await Migrator(pool: pool).requireUsableSchema()
            findings.append(Self.judge(schema, known: Migrator.newestVersion))
        } catch let error as SchemaError {
            // Without the tables nothing else can be asked.
            return findings + [
                .wrong("schema", "\(error)", remedy: "run `countersign migrate`, or update this program")
            ]
        }
        findings += Self.judge(
            overdue: try await backlog.overdue(grace: grace),
            oldestUnsettled: try await backlog.oldestUnsettledSeconds())
        findings.append(Self.judge(waiting: try await EventStore(pool: pool).waiting(longerThan: eventAge)))
        let positions = EventPositionStore(pool: pool)
        findings.append(Self.judge(unnumberedSeconds: try await positions.oldestWaitSeconds()))
        findings.append(Self.judge(unpublishedSeconds: try await positions.oldestUnpublishedSeconds()))
        findings += AlarmCheck.judge(try await SubmissionStore(pool: pool).alarmed())
        let outcomes = OutcomeCountStore(pool: pool)
        findings += OutcomeCheck.judge(rejected: try await outcomes.rejected(within: OutcomeCheck.Limit.rejectedWithin))
        findings += OutcomeCheck.judge(parked: try await outcomes.parked())
        let parked = try await backlog.parkedOrders()
        findings += Self.judge(parked: parked)
        findings += PurchaseCheck.judge(
            conflicts: try await backlog.openConflicts(), parked: parked,
            unknownValues: try await backlog.unknownValues())
        if let revoked = try await RevokedCertificateStore(pool: pool).summary() {
            findings.append(
                .good(
                    "revoked",
                    "\(revoked.count) certificates that signed for the App Store, the newest learnt "
                        + "\(ToolOutput.age(revoked.newestSeconds)) ago"))
        }
        findings += Self.judge(ahead: try await PartitionStore(pool: pool).secondsAhead())
        let calls = AppleCallReading(pool: pool)
        findings += AppleCallCheck.judge(refunds: try await calls.refundRequests(days: AppleCallCheck.Limit.days))
        findings += AppleCallCheck.judge(failures: try await calls.failures(days: AppleCallCheck.Limit.days))
        findings.append(AppleCallCheck.judge(tests: try await AppleNotificationStore(pool: pool).last(ofType: "TEST")))
        findings += CutOverCheck.judge(try await CutOverStore(pool: pool).rows())
        findings += try await sweep()
        findings.append(Self.judge(disabled: try await backlog.disabledEndpoints()))
        findings += Self.judge(stored: try await StoredEndpointStore(pool: pool).list(.all))
        return findings + [try await consistency()]
    }

    /// A schema that this program works with: newer than its own during an upgrade, and after the way back.
    static func judge(_ schema: SchemaState, known: Int64) -> Finding {
        .good("schema", "version \(schema.version)" + (schema.version > known ? "; this program knows \(known)" : ""))
    }

    private func consistency() async throws -> Finding {
        let check = ConsistencyCheck(pool: pool)
        let subject = "consistency"
        if comparesTables == false { return .good(subject, "not compared") }
        let orders = comparesTables == nil ? try await check.estimatedOrders() : .min
        guard orders <= comparedOrdersMaximum else {
            return .good(
                subject, "not compared: some \(orders) orders take minutes; `countersign books check` compares them")
        }
        return Self.judge(try await check.run(examplesMaximum: 1))
    }

    private func sweep() async throws -> [Finding] {
        var selection = LostPurchasesStore.Selection()
        selection.environment = "production"
        selection.olderThan = SweepCheck.Limit.undelivered
        let lost = try await LostPurchasesStore(pool: pool).groups(selection)
        let tasks = SweepTaskStore(pool: pool)
        return [
            SweepCheck.judge(lost: lost),
            SweepCheck.judge(try await tasks.looks(), unasked: try await tasks.unaskedApps()),
        ]
    }

    static func judge(_ server: BacklogStore.ServerSettings) -> Finding {
        let subject = "PostgreSQL"
        if server.isStandby {
            return .wrong(subject, "this server is a standby and takes no purchases", remedy: "point to the primary")
        }
        if !server.isFsyncOn {
            return .wrong(subject, "fsync is off: a power cut loses purchases", remedy: "set fsync = on and restart it")
        }
        if server.synchronousCommit == "off" {
            return .wrong(
                subject, "synchronous_commit is off: an answer goes out before the purchase is on disk",
                remedy: "set synchronous_commit = on")
        }
        if !server.isCollationCurrent {
            return .wrong(
                subject,
                "the order of texts changed under the collation \(server.collation): indexes may miss rows, the unique "
                    + "ones too",
                remedy: "stop the services, REINDEX DATABASE, ALTER DATABASE … REFRESH COLLATION VERSION, start them")
        }
        if !["C", "POSIX", "C.UTF-8", "C.utf8"].contains(server.collation) {
            return .warning(
                subject,
                "the collation is \(server.collation): its order may change with the operating system, and indexes "
                    + "then miss rows",
                remedy:
                    "create the database with LC_COLLATE 'C' before the first purchase; later, copy it into such a one"
            )
        }
        return .good(subject, "version \(server.version), fsync on, synchronous_commit \(server.synchronousCommit)")
    }

    /// New rows are taken without a month, too, by the default partition: only that never goes.
    static func judge(ahead: [PartitionStore.Table: Double]) -> [Finding] {
        let subject = "months"
        let missing = PartitionStore.Table.allCases.filter { (ahead[$0] ?? 0) < monthsAheadMinimum }
        guard missing.isEmpty else {
            return [
                .warning(
                    subject, "no month is made ahead for \(missing.map(\.rawValue).joined(separator: ", "))",
                    remedy: "fulfillment makes them every five minutes: is it running, and what does its log say of "
                        + "`retention`?")
            ]
        }
        let least = ahead.values.min() ?? 0
        return [.good(subject, "made ahead for \(Int(least / 86_400)) days")]
    }

    /// Seconds; a fulfillment that runs is never below a month.
    private static let monthsAheadMinimum = 14 * 86_400.0

    static func judge(overdue: [BacklogStore.Overdue], oldestUnsettled: Double?) -> [Finding] {
        let services = [
            "submissions": "receipt-intake", "webhook_deliveries": "notification",
            "notification_forwards": "notification, with an address for the app in its apps file,",
            "sweep_requests": "a verification-worker with COUNTERSIGN_POSTGRES_URL, and without COUNTERSIGN_SWEEP=off,",
            "apple_calls": "a verification-worker with COUNTERSIGN_POSTGRES_URL and the app's key",
        ]
        let late = overdue.map { table -> Finding in
            .wrong(
                "backlog",
                "\(table.count) \(table.table) are overdue, the oldest by \(ToolOutput.age(table.oldestSeconds))",
                remedy: "nobody takes them: is \(services[table.table] ?? "fulfillment") running and ready?")
        }
        guard late.isEmpty else { return late }
        let waiting = oldestUnsettled.map { "the oldest purchase without outcome is \(ToolOutput.age($0)) old" }
        return [.good("backlog", "nothing is overdue; \(waiting ?? "every purchase has an outcome")")]
    }

    static func judge(waiting: EventStore.Waiting) -> Finding {
        guard waiting.count > 0 else { return .good("events", "the notification service has every event") }
        let count =
            waiting.count < EventStore.WaitingLimit.countMaximum ? "\(waiting.count)" : "at least \(waiting.count)"
        return .wrong(
            "events",
            "\(count) events have no delivery to any endpoint, the oldest for \(ToolOutput.age(waiting.oldestSeconds))",
            remedy: "nobody takes them over: is notification running and ready, and does Kafka take what fulfillment "
                + "sends?")
    }

    static func judge(unnumberedSeconds seconds: Double) -> Finding {
        let subject = "pull"
        guard Duration.seconds(seconds) > EventPositionStore.waitMaximum else {
            return .good(subject, "every event can be pulled, or was written a moment ago")
        }
        return .wrong(
            subject, "events have no position, the oldest for \(ToolOutput.age(seconds)): they cannot be pulled",
            remedy: "fulfillment gives positions: is it running, what does its log say of `event-numbering`, and who "
                + "holds a transaction open? `countersign database`")
    }

    static func judge(unpublishedSeconds seconds: Double) -> Finding {
        let subject = "events topic"
        guard Duration.seconds(seconds) > EventPositionStore.waitMaximum else {
            return .good(subject, "consumers of the topic countersign.events have every event, or get it at once")
        }
        return .warning(
            subject, "events are not in the topic countersign.events, the oldest for \(ToolOutput.age(seconds))",
            remedy:
                "fulfillment publishes them: does the topic exist, may its Kafka user write to it, and what does its log "
                + "say of `event-topic`?")
    }

    /// Doubts that need somebody, apart from purchases that only wait for their buyer to post them, and from those of
    /// `PurchaseCheck`.
    static func judge(parked: [BacklogStore.Parked]) -> [Finding] {
        func text(_ parked: BacklogStore.Parked) -> String {
            "\(parked.count) for \(parked.reason), oldest \(ToolOutput.age(parked.oldestSeconds))"
        }
        let doubts = parked.filter { $0.reason != ReasonCode.unclaimed.rawValue && !PurchaseCheck.concerns($0) }
        let unclaimed = parked.filter { $0.reason == ReasonCode.unclaimed.rawValue }.map { group in
            Finding.good(
                "unclaimed",
                "\(group.count) purchases that Apple told of, or that stood in receipts posted for others, are nobody's, the "
                    + "oldest for \(ToolOutput.age(group.oldestSeconds)); whoever posts them as his own gets them")
        }
        guard !doubts.isEmpty else { return [.good("parked orders", "none in doubt")] + unclaimed }
        let doubtful = Finding.warning(
            "parked orders", doubts.map(text).joined(separator: "; "),
            remedy:
                "paid and not granted: name the product in the catalogue, or the token's account, and they are granted by themselves; of "
                + "account_token_unknown an operator may say whose they are, too: `countersign orders assign`"
        )
        return [doubtful] + unclaimed
    }

    static func judge(disabled: [BacklogStore.DisabledEndpoint]) -> Finding {
        guard let first = disabled.first else { return .good("endpoints", "none is switched off") }
        return .wrong(
            "endpoints",
            "\(first.id) is switched off (\(first.reason)); \(first.pending) deliveries wait"
                + (disabled.count > 1 ? ", and \(disabled.count - 1) more are off" : ""),
            remedy: "mend the endpoint, then `countersign webhooks enable \(first.id) --reason …`: what waits goes out")
    }

    /// Endpoints of the database: told as they are, and one without a secret, which nothing can be sent to.
    static func judge(stored: [StoredEndpoint]) -> [Finding] {
        guard !stored.isEmpty else { return [] }
        if let bare = stored.first(where: { endpoint in !endpoint.secrets.contains { $0.publicKey == nil } }) {
            return [
                .wrong(
                    "stored endpoints", "\(bare.id) has no secret, and nothing can be sent to it",
                    remedy: "`countersign webhooks rotate \(bare.id)`")
            ]
        }
        return [.good("stored endpoints", "\(stored.count) in the database: `countersign webhooks list`")]
    }

    static func judge(_ report: ConsistencyCheck.Report) -> Finding {
        guard let broken = report.rules.first(where: { $0.violations > 0 }) else {
            return .good("consistency", "all \(report.rules.count) rules hold: \(report.rules[0].sentence), and more")
        }
        return .wrong(
            "consistency",
            "not so: \(broken.sentence) (\(broken.violations) violations, such as \(broken.examples.first ?? ""))",
            remedy: "run `countersign books check` and stop fulfillment until it is understood")
    }
}
