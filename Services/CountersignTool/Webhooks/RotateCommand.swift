import ArgumentParser
import Foundation
import Persistence
import Postgres
import ServiceRuntime
import WebhookSigning

extension WebhookCommand {
    /// `countersign webhooks rotate`.
    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rotate",
            abstract: "Creates a new secret for an endpoint; the old one also signs for a while.",
            discussion: """
                Each webhook has a signature for every live secret; there are at most two. For an endpoint of the \
                database the old secret expires after --expires-in. For an endpoint of the webhooks file end it with \
                `countersign webhooks expire-secret`.
                """)

        @Argument(help: "The endpoint's id or name.") var id: String
        @Option(help: "Seconds for which the secret before signs as well; for an endpoint of the database.")
        var expiresIn = WebhookEndpointRules.overlapSecondsDefault
        @Flag(help: "For an endpoint of the database: adds a key of ed25519 where there is none.") var ed25519 = false
        @OptionGroup var audit: EndpointAuditOptions
        @OptionGroup var folder: SettingsFolderOption
        @OptionGroup var printing: PrintingOptions

        func validate() throws {
            let range = WebhookEndpointRules.overlapSeconds
            guard range.contains(expiresIn) else {
                throw ValidationError("--expires-in is from \(range.lowerBound) to \(range.upperBound) seconds")
            }
            guard !ed25519 || EndpointAccess.isStored(id) else {
                throw ValidationError("--ed25519 is for an endpoint of the database, we_…")
            }
        }

        func run() async throws {
            try await failingPlainly { try await rotate() }
        }

        @inline(never)
        private func rotate() async throws {
            guard EndpointAccess.isStored(id) else {
                let places = try await folder.places()
                let path = try SecretFile(of: id, in: places).rotate()
                SetUpAdvice.noteOfSecret(in: places)
                if printing.json { return print(try ToolOutput.json(SecretFile.Report(id: id, secretFile: path))) }
                let since = places.namesCredentials ? "" : ", and signs within seconds"
                print("the new secret of \(id) is the first line of \(path)\(since)")
                return print("the one before signs until `countersign webhooks expire-secret \(id)`")
            }
            let settings = try await ToolSettings.load()
            let seal = try EndpointAccess(settings.reader).requiredSeal()
            let (id, wantsKey, asker, overlap) = (id, ed25519, audit.asker, Duration.seconds(expiresIn))
            let (endpoint, secrets) = try await settings.withDatabase { pool in
                try await Self.rotate(id, pool, seal, wantsKey, overlap, asker)
            }
            let report = EndpointReport(endpoint, secrets)
            if printing.json { return print(try ToolOutput.json(report)) }
            report.printSecrets()
            print("the secret before signs as well for \(expiresIn) s")
        }

        @inline(never)
        private static func rotate(
            _ id: String, _ pool: PostgresPool, _ seal: SecretSeal, _ wantsKey: Bool, _ overlap: Duration,
            _ asker: StoredEndpointStore.Asker
        ) async throws -> (StoredEndpoint, EndpointSecrets) {
            let store = StoredEndpointStore(pool: pool)
            let endpoint = try await EndpointAccess.find(id, store)
            let hasKey = endpoint.secrets.contains { $0.publicKey != nil }
            let secrets = try EndpointSecrets(for: id, ed25519: hasKey || wantsKey, seal: seal)
            do {
                _ = try await store.rotate(id, .all, secrets: secrets.sealed, overlap: overlap, asker: asker)
            } catch let refusal as StoredEndpointStore.Refusal {
                throw EndpointAccess.failure(refusal)
            }
            return (try await EndpointAccess.find(id, store), secrets)
        }
    }

    /// `countersign webhooks expire-secret`.
    struct ExpireSecret: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "expire-secret",
            abstract: "Ends an endpoint's old secret now, after a rotation.")

        @Argument(help: "The endpoint's id or name.") var id: String
        @OptionGroup var audit: EndpointAuditOptions
        @OptionGroup var folder: SettingsFolderOption
        @OptionGroup var printing: PrintingOptions

        private struct Report: Encodable {
            let id: String
            let expired: Int
        }

        func run() async throws {
            try await failingPlainly { try await expire() }
        }

        @inline(never)
        private func expire() async throws {
            let count: Int
            if EndpointAccess.isStored(id) {
                let (id, asker) = (id, audit.asker)
                let expired = try await ToolSettings.load().withDatabase { pool in
                    try await StoredEndpointStore(pool: pool).expireSecrets(of: id, .all, asker: asker)
                }
                guard let expired else { throw EndpointAccess.missing(id) }
                count = expired
            } else {
                let places = try await folder.places()
                count = try SecretFile(of: id, in: places).expire()
                if count > 0 { SetUpAdvice.noteOfSecret(in: places) }
            }
            if printing.json { return print(try ToolOutput.json(Report(id: id, expired: count))) }
            print(count == 0 ? "\(id) has no older secret" : "\(count) older secrets of \(id) sign no longer")
        }
    }
}

/// The file with the secrets of an endpoint of the webhooks file, a line each, the newest first.
struct SecretFile {
    struct Report: Encodable {
        let id: String
        let secretFile: String
    }

    let path: String
    private let secrets: [String]

    /// - Throws: `ToolFailure` where the endpoint is not in the file, or its secrets are in no file.
    init(of id: String, in places: SettingsPlaces) throws {
        var change = SettingsChange(in: places)
        let webhooks = try change.settings(.webhooks)
        let list: [SettingsText.Step] = [.field("endpoints")]
        guard let number = webhooks.texts("id", ofListAt: list).firstIndex(of: id) else {
            throw ToolFailure("\(id) is not in \(webhooks.path)")
        }
        guard let named = webhooks.texts("secret_file", ofListAt: list)[number] else {
            throw ToolFailure("\(id) has no secret_file in \(webhooks.path): its secrets are changed where they are")
        }
        path = named.hasPrefix("/") ? named : "\(places.secrets)/\(named)"
        secrets = try SettingsDisk.input(path).split(whereSeparator: \.isWhitespace).map(String.init)
    }

    /// Puts a new secret before the one that is there.
    ///
    /// - Returns: the file's path.
    /// - Throws: `ToolFailure`, also while two are live.
    func rotate() throws -> String {
        guard secrets.count < StoredEndpointStore.Limit.liveSecrets else {
            throw ToolFailure(
                "\(path) has two secrets already; `countersign webhooks expire-secret` ends the older one")
        }
        try write([WebhookSecret.generate().reveal()] + secrets)
        return path
    }

    /// Leaves the newest secret alone.
    ///
    /// - Returns: how many it took away.
    /// - Throws: `ToolFailure`.
    func expire() throws -> Int {
        guard secrets.count > 1 else { return 0 }
        try write(Array(secrets.prefix(1)))
        return secrets.count - 1
    }

    private func write(_ secrets: [String]) throws {
        let copy = try SettingsDisk.createBeside(
            path, secrets.map { "\($0)\n" }.joined(), mode: SettingsChange.Limit.secretMode)
        try SettingsDisk.rename(copy, to: path)
    }
}
