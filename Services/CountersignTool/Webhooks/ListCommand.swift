import ArgumentParser
import Persistence
import Postgres
import ServiceRuntime

extension WebhookCommand {
    /// `countersign webhooks list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists the endpoints of the webhooks file and of the database.",
            discussion: """
                Without COUNTERSIGN_POSTGRES_URL it lists only those of the file, and without a webhooks file only \
                those of the database; a line on standard error says so.
                """)

        @OptionGroup var folder: SettingsFolderOption
        @OptionGroup var printing: PrintingOptions

        private struct Report: Encodable {
            let endpoints: [EndpointReport]
        }

        func run() async throws {
            try await failingPlainly { try await list() }
        }

        @inline(never)
        private func list() async throws {
            let reports = try await EndpointList(folder: folder).all()
            if printing.json { return print(try ToolOutput.json(Report(endpoints: reports))) }
            if reports.isEmpty { return print("there is no endpoint: `countersign webhooks add` makes one") }
            for report in reports { print(report.line) }
        }
    }

    /// `countersign webhooks show`.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Shows an endpoint, without its secrets.")

        @Argument(help: "The endpoint's id or name.") var id: String
        @OptionGroup var folder: SettingsFolderOption
        @OptionGroup var printing: PrintingOptions

        func run() async throws {
            try await failingPlainly {
                let report = try await EndpointList(folder: folder).one(id)
                try printing.answer(report, report.text)
            }
        }
    }
}

/// Endpoints wherever they are kept.
struct EndpointList {
    let folder: SettingsFolderOption

    /// Those of the file in its order, then those of the database, the oldest first.
    ///
    /// - Throws: `ToolFailure`, `SettingsFileError`.
    func all() async throws -> [EndpointReport] {
        let settings = try await ToolSettings.load()
        let file = try await fileEndpoints(settings)
        guard try settings.reader.secret("postgres.url") != nil else {
            SetUpAdvice.note("COUNTERSIGN_POSTGRES_URL is not set: endpoints of the database are not listed")
            return file.map { EndpointReport($0, nil) }
        }
        let (states, stored) = try await settings.withDatabase { pool in
            try await Self.read(pool, file.map(\.id))
        }
        return file.map { EndpointReport($0, states[$0.id]) } + stored.map { EndpointReport($0) }
    }

    /// One of them.
    ///
    /// - Throws: `ToolFailure` where there is none.
    func one(_ id: String) async throws -> EndpointReport {
        if EndpointAccess.isStored(id) {
            let found = try await ToolSettings.load().withDatabase { pool in
                try await EndpointAccess.find(id, StoredEndpointStore(pool: pool))
            }
            return EndpointReport(found)
        }
        guard let report = try await all().first(where: { $0.id == id && $0.place == "file" }) else {
            throw ToolFailure("\(id) is not in the webhooks file; `countersign webhooks list` has all endpoints")
        }
        return report
    }

    @inline(never)
    private static func read(
        _ pool: PostgresPool, _ ids: [String]
    ) async throws -> ([String: StoredEndpoint.State], [StoredEndpoint]) {
        (try await EndpointStore(pool: pool).states(of: ids), try await StoredEndpointStore(pool: pool).list(.all))
    }

    private func fileEndpoints(_ settings: ToolSettings) async throws -> [WebhooksFile.Endpoint] {
        let named = try settings.reader.string("webhooks.file")
        guard folder.folder != nil || named != nil else {
            SetUpAdvice.note("there is no webhooks file: neither --dir nor COUNTERSIGN_WEBHOOKS_FILE is set")
            return []
        }
        return try WebhooksFile.load(path: try await folder.places().webhooks).endpoints
    }
}
