import ArgumentParser
import Foundation

/// `app-store-simulator load`: buys at the simulator, posts what it got to intake, and says what came of it.
struct LoadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Buys in the simulator, posts the purchases to intake, and waits for every outcome.",
        discussion: """
            An outcome that a post is not answered with is asked for right away, while posting goes on. Latencies are
            from the begin of a purchase's first post: "accept" until it was accepted, "outcome" until its outcome was
            learnt.

            Connection errors, 429 and 5xx are tried again with back-off, as StoreKit would, so that it can run while
            services are killed and started. Exits with 1 when a genuine purchase has no outcome, a forgery was taken
            for genuine, or a duplicate got another submission id.
            """)

    /// The most purchases of one run; each is kept in memory with some kilobytes.
    static let countMaximum = 500_000
    /// The most posts at the same time, and the most questions; each has a connection.
    static let concurrencyMaximum = 4096

    @Option(help: "The simulator's address. Default: COUNTERSIGN_SIMULATOR_URL, or \(ControlClient.defaultBase).")
    var simulator: String?
    @Option(help: "Intake's address. Default: COUNTERSIGN_RECEIPT_INTAKE_URL.") var intake: String?
    @OptionGroup var credentials: CredentialOptions
    @Option(help: "Genuine purchases.") var count = 1000
    @Option(help: "Requests begun per second; as many as go where left out.") var rate: Double?
    @Option(help: "Posts at the same time, at most.") var concurrency = 32
    @Option(
        help: """
            Questions for an outcome at the same time, at most, on connections of their own; the others queue. As many \
            as --concurrency where left out.
            """)
    var outcomeConcurrency: Int?
    @Option(help: "The share of purchases posted twice, half of those at the same moment.") var duplicates = 0.0
    @Option(help: "Forged transactions, as a share of the purchases.") var forgeries = 0.0
    @Option(
        help: """
            The kinds of proof that purchases are posted as, in turn: signed_transaction, receipt, transaction_id. \
            One that is named twice comes twice as often.
            """)
    var proofs = LoadProofKinds.signedTransactions
    @Option(help: "Accounts that buy: player-1 and on.") var accounts = 100
    @Option(help: "Seconds that a post waits for its outcome; what has none then is asked for while posting goes on.")
    var wait = 0
    @Option(help: "The app's bundle id.") var app = "com.example.game"
    @Option(help: "The product's id.") var product = "gems.100"
    @Option(help: "The product's type as Apple names it.") var type = "Consumable"
    @Option(help: "Sandbox or Production.") var environment = "Sandbox"
    @Option(help: "The same seed is the same plan.") var seed: UInt64 = 1
    @Option(help: "Seconds that one purchase is tried before it is given up.") var timeout = 120.0
    @Option(help: "Seconds after the last post in which every outcome must be there; 0 never asks for one.")
    var settleTimeout = 60.0
    @Option(help: "Writes the report as JSON to this file.") var report: String?
    @Flag(help: "Prints the report as JSON; progress goes to standard error.") var json = false

    func validate() throws {
        guard (1...Self.countMaximum).contains(count) else {
            throw ValidationError("--count is from 1 to \(Self.countMaximum)")
        }
        let concurrencies = 1...Self.concurrencyMaximum
        guard concurrencies.contains(concurrency), concurrencies.contains(outcomeConcurrency ?? 1) else {
            throw ValidationError("--concurrency and --outcome-concurrency are from 1 to \(Self.concurrencyMaximum)")
        }
        guard (0...1).contains(duplicates) else { throw ValidationError("--duplicates is a share from 0 to 1") }
        guard (0...1).contains(forgeries) else { throw ValidationError("--forgeries is a share from 0 to 1") }
        guard (1...1_000_000).contains(accounts) else { throw ValidationError("--accounts is from 1 to 1000000") }
        guard (0...30).contains(wait) else {
            throw ValidationError("--wait is from 0 to 30 seconds, the most that intake waits")
        }
        guard rate.map({ $0 > 0 && $0 <= 1_000_000 }) ?? true else { throw ValidationError("--rate is above 0") }
        guard (0...86_400).contains(timeout), (0...86_400).contains(settleTimeout) else {
            throw ValidationError("--timeout and --settle-timeout are from 0 to 86400 seconds")
        }
    }

    func run() async throws {
        try await failingPlainly {
            // Connections of their own, so that no post waits for a question's, which has one for seconds.
            let report = try await HTTPCaller.with(connections: concurrency) { posting in
                try await HTTPCaller.with(connections: askers) { asking in
                    try await carryOut(posting: posting, asking: asking)
                }
            }
            print(json ? try report.json() : report.text)
            if let path = self.report { try Self.write(try report.json(), to: path) }
            guard report.failures.isEmpty else { throw ExitCode.failure }
        }
    }

    private var askers: Int { outcomeConcurrency ?? concurrency }

    private func carryOut(posting: HTTPCaller, asking: HTTPCaller) async throws -> LoadReport {
        let plan = LoadPlan(
            LoadPlan.Settings(
                count: count, accounts: accounts, duplicateShare: duplicates, forgeryShare: forgeries, seed: seed,
                proofs: proofs.kinds))
        let shop = SimulatorClient(
            control: ControlClient(http: posting, base: try ControlClient.base(simulator)), bundleId: app,
            productId: product, type: type, environment: environment)
        let intakeBase = try LaboratorySettings.address(
            intake ?? LaboratorySettings().receiptIntakeURL, of: "--intake")
        let credentials = try await credentials.source().credentials(of: plan.buyers + plan.forgers)
        func client(_ http: HTTPCaller) -> IntakeClient {
            IntakeClient(http: http, base: intakeBase, app: app, credentials: credentials)
        }
        let sold = try await LoadShopper(shop: shop, run: String(UUID().uuidString.prefix(8)).lowercased())
            .buy(plan.proofs)
        let forged = try await forge(shop, plan)
        let records = LoadRecords(
            purchases: zip(sold, plan.buyers).map {
                LoadReport.Purchase(
                    transactionId: $0.transactionId, originalTransactionId: $0.originalTransactionId, account: $1,
                    proof: $0.kind)
            }, forgeries: forged.map(\.record))
        let questions =
            settleTimeout > 0
            ? OutcomeQuestions(
                intake: client(asking), records: records, concurrency: askers, time: .seconds(settleTimeout)) : nil
        let runner = LoadRunner(
            plan: plan, proofs: sold, forgedProofs: forged.map(\.proof), intake: client(posting),
            records: records, questions: questions, rate: rate, concurrency: concurrency, wait: wait,
            timeout: .seconds(timeout))
        return try await carryOut(runner)
    }

    private func carryOut(_ runner: LoadRunner) async throws -> LoadReport {
        let records = runner.records
        let startedAt = Date()
        let start = ContinuousClock.now
        var posted = Duration.zero
        await runner.run { phase, body in
            switch phase {
            case .posting:
                await ProgressLine(title: "posting", total: runner.plan.steps.count).run {
                    let counts = records.counts
                    return (
                        counts.stepsDone,
                        "accepted \(counts.accepted), settled \(counts.settled), retries \(counts.retries)"
                    )
                } _: {
                    await body()
                }
                posted = start.duration(to: .now)
            case .settling:
                await ProgressLine(title: "settling", total: count).run {
                    (records.counts.settled, "retries \(records.counts.retries)")
                } _: {
                    await body()
                }
            }
        }
        let settled = start.duration(to: .now)
        let counts = records.counts
        let copies = runner.plan.steps.reduce(0) { sum, step in
            if case .post(_, let copies) = step { sum + copies } else { sum + 1 }
        }
        return LoadReport(
            app: app, product: product, environment: environment, seed: seed, startedAt: ToolOutput.instant(startedAt),
            sent: copies, duplicates: copies - count - runner.plan.forgers.count, retries: counts.retries,
            mismatchedIds: counts.mismatchedIds, statuses: counts.statuses,
            postingSeconds: posted.milliseconds / 1000, settlingSeconds: settled.milliseconds / 1000,
            purchases: records.purchases, forgeries: records.forgeries)
    }

    private static let waitedFor: Set = ["payload_unreadable", "field_missing", "field_invalid", "environment_unknown"]

    private func forge(
        _ shop: SimulatorClient, _ plan: LoadPlan
    ) async throws -> [(record: LoadReport.Forgery, proof: LoadProof)] {
        guard !plan.forgers.isEmpty else { return [] }
        // What the store's own key signed is waited for: a newer version may read it.
        let kinds = try await shop.forgeryKinds().filter { !Self.waitedFor.contains($0.expectedRejection) }
        guard !kinds.isEmpty else { throw ToolFailure("the simulator knows no forgeries") }
        var forged: [(record: LoadReport.Forgery, proof: LoadProof)] = []
        for (index, account) in plan.forgers.enumerated() {
            let kind = kinds[index % kinds.count]
            forged.append(
                (
                    LoadReport.Forgery(kind: kind.kind, expectedReason: kind.expectedRejection, account: account),
                    LoadProof(
                        kind: .signedTransaction, transactionId: "", originalTransactionId: "",
                        content: try await shop.forge(kind.kind))
                ))
        }
        return forged
    }

    private static func write(_ text: String, to path: String) throws {
        do {
            try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw ToolFailure("the report cannot be written to \(path)")
        }
    }
}
