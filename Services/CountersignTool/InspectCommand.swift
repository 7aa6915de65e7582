import ArgumentParser
import Foundation
import Persistence
import Postgres
import PurchaseModel

/// `countersign inspect`: everything that is known of one purchase, or of an account.
struct InspectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Says what an id is, and shows everything about it: a purchase or an account.",
        discussion: """
            It shows submissions, orders, ledger, balances, entitlements, owners, subscriptions, events, deliveries \
            and acts by hand. For an account: what it bought and has, what waits, and what was refused and why. An \
            order id of Apple's e-mail is known only if it was posted; --ask-apple asks Apple for its transactions.
            """)

    @Argument(
        help: """
            An account; the id of a submission, an event, a spend, a request to forget or to have Apple asked; any of Apple's \
            transaction ids, original ones too, a web order line item's, the order id of an e-mail; an intent, an \
            appAccountToken, a notificationUUID; the id of a request that posted something.
            """)
    var id: String

    @Option(help: "Of an account, or of an order id: a bundle id.") var app: String?
    @Option(help: "The maximum number of rows in each list of an account, the newest first.") var limit = 20
    @Flag(help: "Asks Apple for the transactions of an order id; needs --app, and the app's key in the apps file.")
    var askApple = false
    @OptionGroup var printing: PrintingOptions
    @OptionGroup var folder: SettingsFolderOption

    func validate() throws {
        guard !id.isEmpty else { throw ValidationError("the id is empty") }
        guard (1...10_000).contains(limit) else { throw ValidationError("--limit is from 1 to 10000") }
        guard !askApple || app != nil else { throw ValidationError("--ask-apple needs --app") }
    }

    /// What the database knows of some ids.
    private struct Findings: Sendable {
        var dossiers: [String] = []
        var meanings: [(id: String, found: [IdentifierStore.Meaning])] = []
    }

    func run() async throws {
        try await failingPlainly {
            let settings = try await ToolSettings.load()
            let plain = Self.plain(id)
            let (asked, command) = (try await ids(of: plain, settings), self)
            let findings = try await settings.withDatabase { pool in try await command.findings(asked, pool) }
            var story = InspectedStory(id: plain)
            for dossier in findings.dossiers { try story.add(dossier) }
            for (id, found) in findings.meanings { story.add(id, found) }
            guard !story.isEmpty else { throw Self.unknown(plain, isAsked: askApple) }
            print(printing.json ? try story.json() : try story.text())
        }
    }

    /// The id, and with --ask-apple the transactions that Apple has for it.
    private func ids(of id: String, _ settings: ToolSettings) async throws -> [String] {
        guard askApple, let app else { return [id] }
        let question = try OrderIdQuestion(app: app, folder: folder.folder, settings: settings)
        return [id] + (try await question.transactions(of: id))
    }

    /// An id as the tables have it: `production:2000000123`, as some lists write it, without the first part.
    static func plain(_ id: String) -> String {
        let trimmed = id.trimmingCharacters(in: .whitespacesAndNewlines)
        for environment in StoreEnvironment.allCases {
            for separator in [":", "/", " "] where trimmed.hasPrefix(environment.rawValue + separator) {
                return String(trimmed.dropFirst(environment.rawValue.count + 1))
            }
        }
        return trimmed
    }

    /// Whether it may be the order id of Apple's e-mail: `MQ5LZK4PTX`.
    ///
    /// Apple documents no form; those that customers have begin with M and have ten characters or so.
    static func mayBeOrderId(_ id: String) -> Bool {
        id.first == "M" && (8...20).contains(id.count)
            && id.allSatisfy { $0.isASCII && ($0.isUppercase || $0.isNumber) }
    }

    private static func unknown(_ id: String, isAsked: Bool) -> ToolFailure {
        if isAsked { return ToolFailure("nothing of the order \(id) is known here, by no id that Apple has for it") }
        let advice =
            mayBeOrderId(id)
            ? "; as an order id of Apple's e-mail it was posted by nobody: --ask-apple --app BUNDLE_ID asks Apple what it bought"
            : ""
        return ToolFailure(
            "nothing is known of \(id): it is no account, submission, transaction or event of this database" + advice)
    }

    /// A function of its own, since the optimizer crashes on throwing async calls in a loop in a closure.
    @inline(never)
    private func findings(_ ids: [String], _ pool: PostgresPool) async throws -> Findings {
        var findings = Findings()
        for id in ids { try await add(id, to: &findings, pool) }
        return findings
    }

    @inline(never)
    private func add(_ id: String, to findings: inout Findings, _ pool: PostgresPool) async throws {
        let found = try await IdentifierStore(pool: pool).meanings(of: id)
        let meanings = found.filter { $0.kind != .account || app == nil || $0.app == app }
        let inspection = InspectionStore(pool: pool)
        var leads = [id]
        for lead in meanings.compactMap(\.leadsTo) where !leads.contains(lead) { leads.append(lead) }
        var isKnown = !meanings.isEmpty
        for lead in leads {
            guard let dossier = try await inspection.inspect(lead) else { continue }
            findings.dossiers.append(dossier)
            isKnown = true
        }
        if meanings.contains(where: { $0.kind == .account }) {
            findings.dossiers.append(
                try await AccountInspectionStore(pool: pool).inspect(Account(stored: id), app: app, limit: limit))
        }
        if isKnown { findings.meanings.append((id, meanings)) }
    }
}
