import EventProcessing
import Kafka
import Persistence
import Postgres
import ServiceRuntime

/// What the process can be told, each setting with a comment where it is read.
struct Configuration: Sendable {
    let kafka: KafkaConfiguration
    let postgres: PostgresConfiguration
    /// The webhooks file as it was read; nil where it is said that there is none.
    let webhooks: (path: String, endpoints: [WebhooksFile.Endpoint])?
    let endpoints: [WebhookEndpoint]
    /// The time between looks at the webhooks file, and at the endpoints of the database.
    let webhooksInterval: Duration
    /// Opens the secrets of endpoints in the database; nil where no key is configured.
    let seal: SecretSeal?
    /// Whether endpoints of the database may be in the own network.
    let allowsPrivateAddresses: Bool
    /// The apps file as it was read; nil where none is configured.
    let apps: (path: String, apps: AppsFile)?
    let appsInterval: Duration
    let forwardInterval: Duration
    let batchMaximum: Int
    let delivery: DeliverySettings

    init(_ settings: SettingReader) throws {
        kafka = try KafkaSettings.read(settings, clientId: "notification")
        postgres = try PostgresSettings.read(settings, applicationName: "notification")
        webhooks = try Self.webhooks(settings)
        endpoints =
            try webhooks.map { file in
                try file.endpoints.map { try WebhookEndpoint($0, path: file.path) }
            } ?? []
        // seconds between looks at the file, its secrets, and the endpoints of the database
        webhooksInterval = try settings.duration(
            "webhooks.interval", default: .seconds(2), in: .milliseconds(100)...(.seconds(3_600)))
        seal = try WebhookSettings.seal(settings)
        allowsPrivateAddresses = try WebhookSettings.allowsPrivateAddresses(settings)
        // instead of a file: `database`, all endpoints are in the database; or `none`, no webhooks are wanted, and only
        // endpoints that are later added to the database get events
        // Default: a file is required
        if try settings.string("webhooks")?.lowercased() == Self.inDatabase, seal == nil {
            throw SettingError.missing(
                "webhooks.key", expected: "what opens the secrets of endpoints, since COUNTERSIGN_WEBHOOKS=database")
        }
        // the apps, see `AppsFile`; of it `forward_notifications` is read, and no secret; read again when it changes
        // Default: none: nothing is sent on
        apps = try settings.string("apps.file").map { ($0, try AppsFile.load(path: $0, secrets: [])) }
        // seconds between looks at it
        appsInterval = try settings.duration(
            "apps.interval", default: .seconds(2), in: .milliseconds(100)...(.seconds(3_600)))
        // seconds between looks for notifications to be sent on
        forwardInterval = try settings.duration(
            "forward.interval", default: .seconds(2), in: .milliseconds(50)...(.seconds(3_600)))
        // events taken over in one commit
        batchMaximum = try settings.int("batch.maximum", default: 500, in: 1...5_000)
        delivery = try DeliverySettings(settings)
    }

    /// The word for endpoints that are in the database alone.
    private static let inDatabase = "database"
    /// The words that stand in place of a file.
    private static let words = ["none", inDatabase]

    /// The webhooks file, or nil where somebody said that none is meant: what is taken over without an endpoint is sent
    /// nowhere, and nobody would notice a setting that was forgotten.
    private static func webhooks(
        _ settings: SettingReader
    ) throws -> (path: String, endpoints: [WebhooksFile.Endpoint])? {
        let word = try settings.string("webhooks")
        guard word.map({ words.contains($0.lowercased()) }) ?? true else {
            throw SettingError.invalid("webhooks", expected: "database, none, or not set", found: word)
        }
        // where to send webhooks, see `WebhooksFile`; read again when it changes
        // Default: required, unless `COUNTERSIGN_WEBHOOKS` says that there is none
        let path = try settings.string("webhooks.file")
        switch (path, word) {
        case (let path?, nil): return (path: path, endpoints: try WebhooksFile.load(path: path).endpoints)
        case (nil, _?): return nil
        case (nil, nil):
            throw SettingError.missing(
                "webhooks.file",
                expected: "the path of the webhooks file, unless COUNTERSIGN_WEBHOOKS=database says that all endpoints "
                    + "are in the database, or COUNTERSIGN_WEBHOOKS=none that no webhooks are meant")
        case (_?, _?):
            throw SettingError.invalid(
                "webhooks", expected: "left out where COUNTERSIGN_WEBHOOKS_FILE names a file", found: word)
        }
    }
}
