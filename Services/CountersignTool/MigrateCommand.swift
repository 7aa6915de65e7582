import ArgumentParser
import Persistence

/// `countersign migrate`: brings the database to this version's schema.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Creates the schema of a new database, or applies missing migrations; can be repeated.",
        discussion: "An interrupted migration continues when the command is run again.")

    @OptionGroup var printing: PrintingOptions

    /// What was done, for programs.
    struct Report: Encodable, Sendable {
        /// The names of the migrations; `schema` where there was nothing yet.
        let applied: [String]
        let schemaVersion: Int64
    }

    func run() async throws {
        try await failingPlainly {
            let report = try await ToolSettings.load().withAnySchema { pool in
                let migrator = Migrator(pool: pool) { ToolOutput.note("migrate: \($0)") }
                let applied = try await migrator.migrate()
                return Report(applied: applied, schemaVersion: try await migrator.schemaVersion())
            }
            let lines = report.applied.map { "applied \($0)" } + ["the schema is at version \(report.schemaVersion)"]
            try printing.answer(report, lines.joined(separator: "\n"))
        }
    }
}
