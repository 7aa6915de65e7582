import ArgumentParser
import Persistence

/// `countersign migrate`: brings the database to this version's schema.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Applies the migrations that the database lacks; harmless to repeat.")

    func run() async throws {
        try await failingPlainly {
            try await ToolSettings.load().withDatabase { pool in
                let migrator = Migrator(pool: pool)
                let applied = try await migrator.migrate()
                for name in applied { print("applied \(name)") }
                print("the schema is at version \(try await migrator.schemaVersion())")
            }
        }
    }
}
