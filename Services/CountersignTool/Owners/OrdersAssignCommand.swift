import ArgumentParser
import Persistence
import Postgres
import PurchaseModel

/// `countersign orders assign`: says by hand whose a parked order is.
struct OrdersAssignCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "assign",
        abstract: "Assigns a parked order to an account; fulfillment grants it, and the audit log records who and why.",
        discussion: """
            Only an order that is parked without an account can be claimed: unclaimed, account_token_unknown, \
            purchase_ambiguous, environment_missing or signed_with_expired_certificate. With the claim you confirm the \
            account, and that the purchase was paid for.
            """)

    private enum Pace {
        /// Fulfillment looks every second or so; between looks of the tool's own.
        static let pause = Duration.milliseconds(250)
    }

    @Argument(help: "production or sandbox.") var environment: StoreEnvironment
    @Argument(help: "Any transaction id of the order.") var transaction: String
    @Option(help: "The account: 1 to 255 printable characters.") var account: Account
    @OptionGroup var audit: AuditOptions
    @Option(help: "Seconds to wait for fulfillment.") var wait = 10.0
    @OptionGroup var printing: PrintingOptions

    /// What became of it, for programs.
    struct Report: Encodable, Sendable {
        let auditId: Int64
        let environment: StoreEnvironment
        /// The order's own.
        let transactionId: String
        /// Whether fulfillment has still to take it up.
        let pending: Bool?
        let state: OrderState?
        let reason: String?
        let account: String?
    }

    func validate() throws {
        guard (0...600).contains(wait) else { throw ValidationError("--wait is from 0 to 600 seconds") }
    }

    func run() async throws {
        try await failingPlainly {
            let command = (environment, transaction, account.text, audit.reason, audit.who, wait)
            let (claim, outcome) = try await ToolSettings.load().withDatabase { pool in
                let (environment, transaction, account, reason, actor, wait) = command
                let claim = try await OperatorClaimStore(pool: pool).claim(
                    environment: environment, transactionId: transaction, account: account, actor: actor, reason: reason
                )
                return (claim, try await Self.outcome(of: claim.auditId, within: .seconds(wait), pool: pool))
            }
            let order = claim.key.transactionId
            var lines = order == transaction ? [] : ["\(transaction) is a transaction id of the order \(order)"]
            lines.append("claimed for \(account.text), audit \(claim.auditId)")
            // Said also where what follows is a failure: the claim is written.
            let report = Report(
                auditId: claim.auditId, environment: environment, transactionId: order, pending: outcome?.isPending,
                state: outcome?.state, reason: outcome?.reason, account: outcome?.account)
            try printing.answer(report, lines.joined(separator: "\n"))
            let sentence = try sentence(outcome)
            if !printing.json { print(sentence) }
        }
    }

    /// Looks until fulfillment has taken the claim up, or the time is over.
    @inline(never)
    private static func outcome(
        of audit: Int64, within time: Duration, pool: PostgresPool
    ) async throws -> OwnershipStore.ClaimOutcome? {
        let deadline = ContinuousClock.now + time
        let store = OwnershipStore(pool: pool)
        while true {
            let outcome = try await store.outcome(ofClaim: audit)
            guard outcome?.isPending == true, ContinuousClock.now < deadline else { return outcome }
            try await Task.sleep(for: Pace.pause)
        }
    }

    /// What became of it.
    ///
    /// - Throws: `ToolFailure` where the order is not the account's by now.
    func sentence(_ outcome: OwnershipStore.ClaimOutcome?) throws -> String {
        guard let outcome else { throw ToolFailure("the claim is gone: no row of operator_claims has it") }
        guard !outcome.isPending else {
            throw ToolFailure(
                "fulfillment has not taken it up yet; the claim stays, and is taken up when fulfillment runs",
                exitCode: ToolExit.underWay)
        }
        let standing = outcome.state.rawValue + (outcome.reason.map { ", \($0)" } ?? "")
        guard let owner = outcome.account, owner.utf8.elementsEqual(account.text.utf8) else {
            throw ToolFailure(
                "fulfillment took it up, and did not give it: the order is \(standing), "
                    + (outcome.account.map { "\($0)'s" } ?? "nobody's"))
        }
        return "the order is \(standing), \(account.text)'s"
    }
}
