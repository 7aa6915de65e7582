import ArgumentParser
import Foundation
import Persistence
import PurchaseModel

/// `countersign export`: all that is known of an account, as JSON.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Prints all data of an account as one JSON object.",
        discussion: """
            Each list has the name of its table, and is present even if it is empty. Other accounts are not named. A \
            pseudonym can be exported, too.
            """)

    @Argument(help: "The account.") var account: String
    @Option(help: "The app's bundle id.") var app: String
    @Flag(help: "Has no effect: the output is always JSON.") var json = false

    func validate() throws {
        guard !app.isEmpty else { throw ValidationError("--app must be named") }
        guard Self.account(account) != nil else {
            throw ValidationError("an account has 1 to \(Account.lengthMaximum) printable characters")
        }
    }

    /// What may be exported: what intake takes, and what it became.
    static func account(_ text: String) -> Account? {
        let stored = Account(stored: text)
        return stored.isPseudonym ? stored : Account(text)
    }

    func run() async throws {
        try await failingPlainly {
            guard let account = Self.account(account) else { return }
            let app = app
            try await ToolSettings.load().withDatabase { pool in
                let export = AccountExport(pool: pool, app: app, account: account)
                guard try await !export.counts().isEmpty else { throw ForgetCommand.unknown(account, app) }
                try await export.write { try FileHandle.standardOutput.write(contentsOf: Data($0.utf8)) }
            }
        }
    }
}
