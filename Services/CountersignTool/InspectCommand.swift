import ArgumentParser
import Persistence

/// `countersign inspect`: everything that is known of one purchase.
struct InspectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Shows what is known of a purchase, or of what was done by hand.",
        discussion: """
            Submissions, order, ledger, balances, entitlements, owners, subscription, events, deliveries, and what operators
            did.
            """)

    @Argument(help: "The id of a submission, a transaction, or an event.")
    var id: String

    @Flag(help: "Prints JSON.")
    var json = false

    func run() async throws {
        try await failingPlainly {
            let found = try await ToolSettings.load().withDatabase { pool in
                try await InspectionStore(pool: pool).inspect(id)
            }
            guard let found else {
                throw ToolFailure(
                    "nothing is known of \(id): it is no submission, transaction or event of this database")
            }
            print(json ? found : try Dossier(json: found).text)
        }
    }
}
