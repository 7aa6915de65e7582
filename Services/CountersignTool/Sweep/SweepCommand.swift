import ArgumentParser
import Persistence
import PurchaseModel

/// `countersign apple sweep`: has Apple asked for all that a customer bought, at once.
struct SweepCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sweep",
        abstract: "Asks Apple now for everything that an account's Apple ID bought.",
        discussion: """
            It reads the whole history, the refunds and the subscriptions. Missing purchases are granted as usual. \
            Countersign must know at least one purchase of the customer, because Apple is asked by a transaction id.
            """)

    @Option(help: "A bundle id.") var app: String
    @Option(help: "Whose: an account that has bought something.") var account: Account?
    @Option(help: "Or any transaction id of the customer.") var transaction: String?
    @Option(help: "production or sandbox; both without it.") var environment: StoreEnvironment?
    @OptionGroup var audit: AuditOptions

    @OptionGroup var printing: PrintingOptions

    /// What was asked for, for programs.
    struct Report: Encodable, Sendable {
        let questions: Int
        let auditId: Int64
    }

    func validate() throws {
        guard (account == nil) != (transaction == nil) else {
            throw ValidationError("name --account or --transaction: exactly one of these")
        }
    }

    func run() async throws {
        try await failingPlainly {
            let command = (subject, app, environment, audit.who, audit.reason)
            let request = try await ToolSettings.load().withDatabase { pool in
                let (subject, app, environment, actor, reason) = command
                return try await SweepTaskStore(pool: pool).request(
                    subject, app: app, environment: environment, actor: actor, reason: reason)
            }
            guard let audit = request.auditId else {
                throw ToolFailure(
                    "nothing is known of \(account?.text ?? transaction ?? "it") that Apple could be asked by: post a transaction "
                        + "id, or the order id of Apple's e-mail (POST /v1/purchases)")
            }
            try printing.answer(
                Report(questions: request.tasks, auditId: audit),
                "\(request.tasks) questions are asked within seconds, before all others; audit \(audit)")
        }
    }

    private var subject: SweepTaskStore.Subject {
        account.map { .account($0) } ?? .transaction(transaction ?? "")
    }
}
