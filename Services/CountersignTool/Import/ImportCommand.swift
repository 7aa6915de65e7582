import ArgumentParser
import Foundation
import Persistence
import Postgres
import PurchaseModel

extension ImportFormat: ExpressibleByArgument {}

/// `countersign import`: takes over what an older system has.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Imports purchases from an older system, and reports where the two differ.",
        subcommands: [FileOfPurchases.self, Report.self, Compare.self], defaultSubcommand: FileOfPurchases.self)

    /// `countersign import FILE`.
    struct FileOfPurchases: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "file", abstract: "Verifies and records every purchase in a file, once.",
            discussion: """
                The file is CSV with names of columns, JSON lines, or a proof a line; or a folder with a proof in each file. \
                Columns: account, transaction_id, signed_transaction, receipt, order_id, app_account_token, environment, \
                product_id, quantity, items (gem=100;dust=5), granted. Everything is posted to the services, which must run. \
                A command that was ended goes on where it was when it is given again; the same file is read once.
                """)

        @Argument(help: "A file, one of gzip, or a folder.", completion: .file()) var file: String
        @Option(help: "The bundle id of the app.") var app: String
        @Option(help: "csv, jsonl or lines; by the file's name without it.") var format: ImportFormat?
        @Option(help: "Which column a field is: --column account=user_id; may be given several times.")
        var column: [String] = []
        @Option(help: "Where to ask Apple about ids first: production or sandbox.") var environment: StoreEnvironment?
        @Flag(help: "Takes files of an app without a cut-over for all products: what has none is granted.")
        var grant = false
        @Option(
            help:
                "The maximum number of submissions without an outcome; a lower number leaves more capacity to players.")
        var inFlight = ImportRun.Limit.inFlight
        @Option(help: "Seconds to wait in the end while no outcome comes.") var wait = 60.0
        @Option(help: "Writes the lines that are not in the books to this file, with their reasons.")
        var refused: String?
        @Option(help: "Why, for the audit log.") var reason = "taken over from an older system"
        @Option(help: "Who, for the audit log; the user of the session by default.") var actor: String?
        @OptionGroup var printing: PrintingOptions

        func validate() throws {
            guard (0...86_400).contains(wait) else { throw ValidationError("--wait is from 0 to 86400 seconds") }
            guard (1...100_000).contains(inFlight) else { throw ValidationError("--in-flight is from 1 to 100000") }
            guard !reason.allSatisfy(\.isWhitespace) else { throw ValidationError("--reason says why, in a sentence") }
            _ = try columns()
        }

        func run() async throws {
            try await failingPlainly {
                let file = try ImportFile(path: file, format: format, columns: try columns())
                let command = self
                let summary = try await ToolSettings.load().withDatabase { pool in
                    try await command.take(file, pool: pool)
                }
                try printing.answer(summary, summary.text)
            }
        }

        @inline(never)
        private func take(_ file: ImportFile, pool: PostgresPool) async throws -> ImportSummary {
            try await requireCutOver(pool)
            let fingerprint = try file.fingerprint(environment: environment?.rawValue ?? "")
            let store = ImportStore(pool: pool)
            let started = try await store.begin(
                app: app, source: file.name, fingerprint: fingerprint, actor: actor ?? ToolActor.sessionUser,
                reason: reason)
            let reader = ImportReader(file)
            defer { reader.close() }
            let run = ImportRun(
                pool: pool, reader: reader, app: app, environment: environment, inFlight: inFlight,
                tell: Self.tell)
            if started.finishedAt == nil {
                let unknown = try await reader.open()
                if !unknown.isEmpty { Self.tell("columns that mean nothing here: \(unknown.joined(separator: ", "))") }
                Self.tell(
                    "import \(started.id) of \(file.name)"
                        + (started.linesDone > 0 ? " goes on after line \(started.linesDone)" : " begins"))
                try await run.run(started)
            } else {
                Self.tell("import \(started.id) has read \(file.name) before: nothing is posted again")
            }
            _ = try await run.waitForOutcomes(of: started.id, patience: .seconds(wait))
            let summary = try await ImportSummary.read(started.id, from: store)
            if let refused { try await ImportRefusals.write(started.id, from: store, to: refused) }
            return summary
        }

        private func requireCutOver(_ pool: PostgresPool) async throws {
            let environment = environment ?? .production
            let isSet = try await CutOverStore(pool: pool).coversAllProducts(of: app, in: environment)
            guard !isSet, !grant else { return }
            throw ToolFailure(
                "\(app) has no cut-over for all products in \(environment.rawValue), so what is in the file would be granted "
                    + "a second time: say until when the older system granted by `countersign cut-over set`, or by --grant "
                    + "that it granted nothing but the products with a cut-over of their own")
        }

        private func columns() throws -> [String: ImportField] {
            var columns: [String: ImportField] = [:]
            for text in column {
                let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
                guard parts.count == 2, let field = ImportField(rawValue: parts[0]) else {
                    throw ValidationError(
                        "--column is FIELD=NAME, FIELD one of "
                            + ImportField.allCases.map(\.rawValue).joined(separator: ", "))
                }
                columns[parts[1]] = field
            }
            return columns
        }

        /// Progress is for the terminal; standard output has the report.
        @Sendable
        private static func tell(_ line: String) {
            FileHandle.standardError.write(Data((line + "\n").utf8))
        }
    }

    /// `countersign import report`.
    struct Report: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "report",
            abstract: "Shows the result of an import; without a number, lists the imports.")

        @Argument(help: "The number of an import.") var id: Int64?
        @Option(help: "Of one app only.") var app: String?
        @Option(help: "Writes the lines that are not in the books to this file, with their reasons.")
        var refused: String?
        @OptionGroup var printing: PrintingOptions

        func run() async throws {
            try await failingPlainly {
                let command = self
                let text = try await ToolSettings.load().withDatabase { pool in
                    try await command.report(ImportStore(pool: pool))
                }
                print(text)
            }
        }

        @inline(never)
        private func report(_ store: ImportStore) async throws -> String {
            guard let id else {
                let imports = try await store.imports(app: app).map(ImportSummary.File.init)
                return printing.json
                    ? try ToolOutput.json(imports)
                    : imports.isEmpty ? "nothing was imported" : imports.map(\.text).joined(separator: "\n")
            }
            let summary = try await ImportSummary.read(id, from: store)
            if let refused { try await ImportRefusals.write(id, from: store, to: refused) }
            return printing.json ? try ToolOutput.json(summary) : summary.text
        }
    }
}
