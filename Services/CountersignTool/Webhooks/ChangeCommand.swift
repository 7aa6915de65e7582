import ArgumentParser
import Persistence
import Postgres
import ServiceRuntime

extension WebhookCommand {
    /// `countersign webhooks change`.
    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "change", abstract: "Changes an endpoint of the database; other fields stay as they are.",
            discussion: """
                Waiting deliveries go to the new address. To change an endpoint of the webhooks file, edit the file; \
                notification reads it within seconds.
                """)

        @Argument(help: "The endpoint's id, we_….") var id: String
        @Option(help: "Its address, https://…") var url: String?
        @Option(help: "What it is for, in a few words.") var description: String?
        @Option(help: "A type of events, * at the end for all that begin so; several times for several, '*' for all.")
        var event: [String] = []
        @Option(help: "A bundle id; several times for several.") var app: [String] = []
        @Flag(help: "It takes the events of all apps.") var allApps = false
        @Option(help: "production or sandbox; twice for both.") var environment: [String] = []
        @Option(help: "The shape of events that its receiver was written for: a date.") var schemaVersion: String?
        @Flag(inversion: .prefixedNo, help: "An account's events are sent one after the other, in their order.")
        var ordered: Bool?
        @OptionGroup var audit: EndpointAuditOptions
        @OptionGroup var folder: SettingsFolderOption
        @OptionGroup var printing: PrintingOptions

        func validate() throws {
            guard !allApps || app.isEmpty else { throw ValidationError("--app or --all-apps, not both") }
        }

        func run() async throws {
            try await failingPlainly { try await change() }
        }

        @inline(never)
        private func change() async throws {
            guard EndpointAccess.isStored(id) else {
                throw ToolFailure(
                    "\(id) is no id of the database (we_…); an endpoint of the webhooks file is changed in that file"
                )
            }
            let settings = try await ToolSettings.load()
            let access = try EndpointAccess(settings.reader)
            let (id, asker) = (id, audit.asker)
            let change = try changes(access)
            let found = try await settings.withDatabase { pool in
                try await Self.change(id, StoredEndpointStore(pool: pool), asker, change)
            }
            let report = EndpointReport(found)
            try printing.answer(report, report.text)
        }

        /// What the options say, checked before anything is asked of the database.
        private func changes(_ access: EndpointAccess) throws -> @Sendable (inout EndpointSettings) -> Void {
            var checked = EndpointSettings(url: "", schemaVersion: "")
            let apps: [String]? = allApps ? [] : app.isEmpty ? nil : app
            try access.change(
                &checked, url: url, description: description, apps: apps,
                environments: environment.isEmpty ? nil : environment, events: event.isEmpty ? nil : event,
                schemaVersion: schemaVersion)
            let (url, description, version) = (url, description, schemaVersion)
            let (hasEnvironments, hasEvents, hasApps) = (!environment.isEmpty, !event.isEmpty, apps != nil)
            let (new, isOrdered) = (checked, ordered)
            return { settings in
                if url != nil { settings.url = new.url }
                if description != nil { settings.description = new.description }
                if let isOrdered { settings.isOrdered = isOrdered }
                if version != nil { settings.schemaVersion = new.schemaVersion }
                if hasEnvironments { settings.environments = new.environments }
                if hasEvents { settings.events = new.events }
                if hasApps { settings.apps = new.apps }
            }
        }

        @inline(never)
        private static func change(
            _ id: String, _ store: StoredEndpointStore, _ asker: StoredEndpointStore.Asker,
            _ change: @escaping @Sendable (inout EndpointSettings) -> Void
        ) async throws -> StoredEndpoint {
            do {
                guard try await store.change(id, .all, asker: asker, change) else { throw EndpointAccess.missing(id) }
            } catch let refusal as StoredEndpointStore.Refusal {
                throw EndpointAccess.failure(refusal)
            }
            return try await EndpointAccess.find(id, store)
        }
    }

    /// `countersign webhooks remove`.
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Removes an endpoint from the database, or from the webhooks file.",
            discussion: """
                Waiting deliveries of an endpoint of the database are removed and never sent. Those of an endpoint of \
                the file wait, and go out when the file has the name again. To pause an endpoint: `countersign \
                webhooks disable`.
                """)

        @Argument(help: "The endpoint's id or name.") var id: String
        @Flag(help: "Does it; without this it only shows the endpoint.") var yes = false
        @OptionGroup var audit: EndpointAuditOptions
        @OptionGroup var folder: SettingsFolderOption
        @OptionGroup var printing: PrintingOptions

        private struct Report: Encodable {
            let id: String
            let removed: Bool
        }

        func run() async throws {
            try await failingPlainly { try await act() }
        }

        @inline(never)
        private func act() async throws {
            let report = try await EndpointList(folder: folder).one(id)
            if yes { try await remove() }
            if printing.json { return print(try ToolOutput.json(Report(id: id, removed: yes))) }
            guard yes else {
                print(report.text)
                return print("nothing is changed: --yes removes it")
            }
            print("\(id) is removed")
        }

        private func remove() async throws {
            guard EndpointAccess.isStored(id) else { return try await removeFromFile() }
            let (id, asker) = (id, audit.asker)
            let isRemoved = try await ToolSettings.load().withDatabase { pool in
                try await StoredEndpointStore(pool: pool).remove(id, .all, asker: asker)
            }
            guard isRemoved else { throw EndpointAccess.missing(id) }
        }

        private func removeFromFile() async throws {
            let places = try await folder.places()
            var change = SettingsChange(in: places)
            var webhooks = try change.settings(.webhooks)
            let list: [SettingsText.Step] = [.field("endpoints")]
            guard let number = webhooks.texts("id", ofListAt: list).firstIndex(of: id) else {
                throw ToolFailure("\(id) is not in \(webhooks.path)")
            }
            try webhooks.remove(number, fromListAt: list)
            change.set(.webhooks, webhooks.text)
            try change.apply()
            SetUpAdvice.note("its secret stays where it is: remove the file by hand once nobody needs it")
        }
    }
}
