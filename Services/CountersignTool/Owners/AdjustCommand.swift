import ArgumentParser
import Persistence
import PurchaseModel

/// `countersign adjust`: gives items to an account, or takes them, by hand.
struct AdjustCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adjust",
        abstract: "Gives or takes items by hand, with ledger entries, an event, and a row in the audit log.",
        discussion: """
            countersign adjust --app com.example.game --account alice --item gem=+100 --item dust=-5 --reason "…"
            Each call is another adjustment: look before you repeat one.
            """)

    @Option(help: "The app's bundle id.") var app: String
    @Option(help: "production or sandbox.") var environment: StoreEnvironment = .production
    @Option(help: "Whose balance: 1 to 255 printable characters.") var account: Account
    @Option(help: "An item and what is added: gem=+100, gem=-5. May be repeated.") var item: [String]
    @OptionGroup var audit: AuditOptions
    @Flag(help: "Allows a negative balance.") var allowDebt = false
    @OptionGroup var printing: PrintingOptions

    /// What the account has now, for programs.
    struct Report: Encodable, Sendable {
        struct Balance: Encodable, Sendable {
            let item: String
            let change: Int64
            let amount: Int64
        }

        let auditId: Int64
        let balances: [Balance]

        /// Nil where nothing was changed.
        init?(_ adjusted: LedgerStore.Adjusted, _ changes: [Catalogue.ItemGrant]) {
            guard case .adjusted(let auditId, let balances) = adjusted else { return nil }
            self.auditId = auditId
            self.balances = balances.map { balance in
                Balance(
                    item: balance.item, change: changes.first { $0.item == balance.item }?.amount ?? 0,
                    amount: balance.amount)
            }
        }
    }

    func validate() throws {
        guard !app.isEmpty else { throw ValidationError("--app must be named") }
        guard (1...LedgerStore.Limit.items).contains(item.count) else {
            throw ValidationError("--item: 1 to \(LedgerStore.Limit.items) of them")
        }
        _ = try changes()
    }

    func run() async throws {
        try await failingPlainly {
            let (environment, app, account, reason) = (environment, app, account, audit.reason)
            let (changes, actor, allowDebt) = (try changes(), audit.who, allowDebt)
            let adjusted = try await ToolSettings.load().withDatabase { pool in
                try await LedgerStore.adjust(
                    environment: environment, app: app, account: account, items: changes, actor: actor, reason: reason,
                    allowsDebt: allowDebt, pool: pool)
            }
            let text = try Self.text(adjusted, changes, account: account.text)
            try printing.answer(Report(adjusted, changes), text)
        }
    }

    /// The sentence of what became of it.
    ///
    /// - Throws: `ToolFailure` where nothing was changed.
    static func text(
        _ adjusted: LedgerStore.Adjusted, _ changes: [Catalogue.ItemGrant], account: String
    ) throws -> String {
        switch adjusted {
        case .adjusted(let auditId, let balances):
            let lines = balances.map { balance in
                let change = changes.first { $0.item == balance.item }?.amount ?? 0
                return "\(balance.item) \(change > 0 ? "+" : "")\(change): \(account) has \(balance.amount) now"
            }
            return (lines + ["written as audit \(auditId)"]).joined(separator: "\n")
        case .insufficient(let shortages):
            let parts = shortages.map { "\($0.item) is \($0.balance), and \($0.needed) would be taken" }
            throw ToolFailure(
                "nothing is changed: \(parts.joined(separator: "; ")); --allow-debt lets it go below zero")
        case .beyondLimit(let items):
            throw ToolFailure(
                "nothing is changed: \(items.joined(separator: ", ")) would be more than "
                    + "\(LedgerStore.Limit.balance), above or below zero")
        case .notByHand(let names): throw ToolFailure("nothing is changed: \(names.joined(separator: ", "))")
        }
    }

    /// The items with their amounts, each named once.
    private func changes() throws -> [Catalogue.ItemGrant] {
        var changes: [Catalogue.ItemGrant] = []
        for text in item {
            let change = try Self.change(text)
            guard !changes.contains(where: { $0.item == change.item }) else {
                throw ValidationError("--item \(change.item) is named twice")
            }
            changes.append(change)
        }
        return changes
    }

    /// The longest name of an item, as catalogues have them.
    private static let itemBytesMaximum = 255

    /// Reads `gem=+100`; the sign is asked for, so that nobody sets a balance to 100 by mistake.
    static func change(_ text: String) throws -> Catalogue.ItemGrant {
        let mistake = ValidationError(
            "--item is a name of 1 to \(itemBytesMaximum) bytes, = and a signed whole number up to "
                + "\(LedgerStore.Limit.amount): gem=+100, gem=-5")
        guard let equals = text.lastIndex(of: "="), equals > text.startIndex,
            text[..<equals].utf8.count <= itemBytesMaximum
        else { throw mistake }
        let number = text[text.index(after: equals)...]
        guard let sign = number.first, sign == "+" || sign == "-", let amount = Int64(number), amount != 0,
            amount.magnitude <= LedgerStore.Limit.amount.magnitude
        else { throw mistake }
        return Catalogue.ItemGrant(item: String(text[..<equals]), amount: amount)
    }
}
