import ArgumentParser
import Persistence
import PurchaseModel
import ServiceRuntime
import WebhookSigning

extension WebhookCommand {
    /// `countersign webhooks add`.
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Adds an endpoint with a new secret.",
            discussion: """
                `add NAME URL` adds the endpoint to the webhooks file, and its secret to a file beside it. `add \
                --database URL` adds it to the database, and prints its secret once. Both are in use within seconds.
                """)

        @Argument(help: "The endpoint's name in tables, logs and metrics; with --database its URL.")
        var id: String
        @Argument(help: "Its address, https://…") var url: String?
        @Flag(help: "Into the database; the endpoint gets an id of its own.") var database = false
        @Option(help: "A type of events that it takes, * at the end for all that begin so; several times for several.")
        var event: [String] = []
        @Option(help: "A bundle id whose events it takes; several times for several.") var app: [String] = []
        @Option(help: "production or sandbox; both without it.") var environment: [String] = []
        @Flag(help: "Allows plain HTTP and addresses inside the own network, for development; not with --database.")
        var allowPrivateAddresses = false
        @Option(help: "A file with the secret to use (whsec_…), copied in place of a new one; not with --database.")
        var secretFile: String?
        @Option(help: "With --database: what it is for, in a few words.") var description = ""
        @Flag(help: "With --database: a key of ed25519 signs as well, whose public half is shown.") var ed25519 = false
        @Flag(help: "With --database: an account's events are sent one after the other, in their order.") var ordered =
            false
        @OptionGroup var audit: EndpointAuditOptions
        @OptionGroup var folder: SettingsFolderOption
        @OptionGroup var printing: PrintingOptions

        func validate() throws {
            guard (url == nil) == database else {
                throw ValidationError("add NAME URL, or add --database URL")
            }
            guard database || (description.isEmpty && !ed25519 && !ordered) else {
                throw ValidationError("--description, --ed25519 and --ordered are for --database")
            }
            guard !database || (!allowPrivateAddresses && secretFile == nil) else {
                throw ValidationError("--allow-private-addresses and --secret-file are for the webhooks file")
            }
        }

        func run() async throws {
            try await failingPlainly { try await add() }
        }

        @inline(never)
        private func add() async throws {
            if database { try await addToDatabase() } else { try await addToFile() }
        }

        private func addToFile() async throws {
            let places = try await folder.places()
            let endpoint = NewEndpoint(
                id: id, url: url ?? "", events: event, apps: app, environments: environment,
                allowsPrivateAddresses: allowPrivateAddresses,
                secret: try secretFile.map { try SettingsDisk.input($0) } ?? WebhookSecret.generate().reveal())
            var change = SettingsChange(in: places)
            let secret = try endpoint.add(to: &change, in: places)
            try change.apply()
            guard !printing.json else {
                let added = FileAddition(
                    id: id, place: "file", path: places.webhooks, secretFile: "\(places.secrets)/\(secret)",
                    systemd: SetUpAdvice.dropIns(change, in: places))
                return print(try ToolOutput.json(added))
            }
            print("\(id) is in \(places.webhooks)")
            print("its backend checks signatures with the secret in \(places.secrets)/\(secret)")
            SetUpAdvice.tell(change, in: places)
            print("next: `countersign webhooks ping \(id)`")
        }

        private struct FileAddition: Encodable {
            let id: String
            let place: String
            let path: String
            let secretFile: String
            /// What systemd must be told, in sentences.
            let systemd: [String]
        }

        private func addToDatabase() async throws {
            let settings = try await ToolSettings.load()
            let access = try EndpointAccess(settings.reader)
            var chosen = try access.settings(
                url: id, description: description, apps: app, environments: environment, events: event)
            chosen.isOrdered = ordered
            let newId = StoredEndpoint.newId()
            let secrets = try EndpointSecrets(for: newId, ed25519: ed25519, seal: try access.requiredSeal())
            let (asker, endpoint) = (audit.asker, chosen)
            let made = try await settings.withDatabase { pool in
                try await Self.create(newId, endpoint, secrets, asker, StoredEndpointStore(pool: pool))
            }
            let report = EndpointReport(made, secrets)
            guard !printing.json else { return print(try ToolOutput.json(report)) }
            print("\(newId) is in the database, and is told of every event from some seconds later on")
            report.printSecrets()
            print("next: `countersign webhooks ping \(newId)`")
        }

        @inline(never)
        private static func create(
            _ id: String, _ settings: EndpointSettings, _ secrets: EndpointSecrets, _ asker: StoredEndpointStore.Asker,
            _ store: StoredEndpointStore
        ) async throws -> StoredEndpoint {
            do {
                try await store.create(id, settings, secrets: secrets.sealed, asker: asker)
            } catch let refusal as StoredEndpointStore.Refusal {
                throw EndpointAccess.failure(refusal)
            }
            return try await EndpointAccess.find(id, store)
        }
    }
}
