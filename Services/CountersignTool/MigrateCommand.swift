import ArgumentParser
import Persistence
import Postgres

/// `countersign migrate`: brings the database to this version's schema, and the services' roles to their rights.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Creates the schema of a new database, or applies missing migrations; can be repeated.",
        discussion: """
            An interrupted migration continues when the command is run again. Afterwards the services' roles get the rights of \
            this version (rights.sql), where create-roles.sql made them and this user owns the tables. A newer schema that \
            this version works with stays as it is, with its rights.
            """)

    @Flag(help: "Only say what would be applied, and which programs work with the schema afterwards.")
    var dryRun = false

    @Flag(help: "Leave the roles' rights as they are.")
    var noRights = false

    @OptionGroup var printing: PrintingOptions

    /// What was done, for programs.
    struct Report: Encodable, Sendable {
        /// The names of the migrations; `schema` where there was nothing yet.
        let applied: [String]
        let schemaVersion: Int64
        /// The oldest schema version whose programs work with it.
        let compatibleFrom: Int64
        /// `applied`, `no_roles`, `roles_missing`, `owned_by_another`, or `left`.
        let rights: String
    }

    /// What would be done, for programs; the schema is that of afterwards.
    struct Plan: Encodable, Sendable {
        let missing: [String]
        let schemaVersion: Int64
        let compatibleFrom: Int64
        /// The newest schema version that this program knows.
        let knownVersion: Int64
    }

    func run() async throws {
        try await failingPlainly {
            try await ToolSettings.load().withAnySchema { pool in
                let migrator = Migrator(pool: pool) { ToolOutput.note("migrate: \($0)") }
                do {
                    try await dryRun ? tellPlan(migrator) : migrate(migrator, pool)
                } catch let error as SchemaError {
                    throw ToolFailure("\(error)")
                }
            }
        }
    }

    private func tellPlan(_ migrator: Migrator) async throws {
        let (missing, state) = try await migrator.plan()
        let lines = missing.map { "would apply \($0)" } + [Self.sentence(state, "would be")]
        try printing.answer(
            Plan(
                missing: missing, schemaVersion: state.version, compatibleFrom: state.compatibleFrom,
                knownVersion: Migrator.newestVersion),
            lines.joined(separator: "\n"))
    }

    private func migrate(_ migrator: Migrator, _ pool: PostgresPool) async throws {
        let applied = try await migrator.migrate()
        let state = try await migrator.state()
        // The rights of a newer version name tables that this version's script takes from everybody.
        let leavesRights = noRights || state.version > Migrator.newestVersion
        let (rights, rightsSentence) = Self.told(leavesRights ? nil : try await DatabaseRights(pool: pool).apply())
        let lines = applied.map { "applied \($0)" } + [Self.sentence(state, "is"), rightsSentence]
        try printing.answer(
            Report(
                applied: applied, schemaVersion: state.version, compatibleFrom: state.compatibleFrom, rights: rights),
            lines.joined(separator: "\n"))
    }

    private static func sentence(_ state: SchemaState, _ verb: String) -> String {
        "the schema \(verb) at version \(state.version); programs from schema version \(state.compatibleFrom) on work with it"
    }

    /// What became of the rights: for programs, and in a sentence with what is left to do.
    ///
    /// - Parameter outcome: nil where they were to be left.
    static func told(_ outcome: DatabaseRights.Outcome?) -> (code: String, sentence: String) {
        switch outcome {
        case nil: ("left", "the roles' rights were left as they were")
        case .applied: ("applied", "each role has the rights of this version")
        case .noRoles: ("no_roles", "all services use this user: no role of create-roles.sql exists")
        case .rolesMissing(let names):
            (
                "roles_missing",
                "rights are NOT applied: there is no role \(names.joined(separator: ", ")); run create-roles.sql as a "
                    + "superuser, then `countersign migrate` again"
            )
        case .ownedByAnother(let owner):
            (
                "owned_by_another",
                "rights are NOT applied: the tables belong to \(owner). Run `countersign migrate` as \(owner), or: "
                    + "psql -X -v ON_ERROR_STOP=1 -U \(owner) -d DATABASE -f rights.sql"
            )
        }
    }
}
