import EventProcessing
import Kafka
import Persistence
import Postgres
import ServiceRuntime

/// What the process can be told.
///
/// | variable | meaning | default |
/// |---|---|---|
/// | `COUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS` | brokers, `host:port,…` | required |
/// | `COUNTERSIGN_KAFKA_PROPERTIES_FILE` | more librdkafka properties (SASL, TLS), one `key=value` a line | none |
/// | `COUNTERSIGN_KAFKA_SESSION_TIMEOUT` | seconds until the others take over from a process that died | 10 |
/// | `COUNTERSIGN_KAFKA_FETCH_WAIT` | seconds a broker may keep a fetch open that finds nothing; Tansu wants 0.01 | 0.5 |
/// | `COUNTERSIGN_POSTGRES_URL` | the database; or `…_FILE`, a file that holds it | required |
/// | `COUNTERSIGN_POSTGRES_POOL_SIZE` | connections | 8 |
/// | `COUNTERSIGN_POSTGRES_PREPARED_STATEMENTS` | `false` behind PgBouncer before 1.21 in transaction mode | `true` |
/// | `COUNTERSIGN_WEBHOOKS_FILE` | where to send webhooks, see `WebhooksFile`; read again when it changes | required, or the next |
/// | `COUNTERSIGN_WEBHOOKS` | instead of a file: `database`, all endpoints are in the database; or `none`, no webhooks are wanted, and only endpoints that are later added to the database get events | a file is required |
/// | `COUNTERSIGN_WEBHOOKS_INTERVAL` | seconds between looks at the file, its secrets, and the endpoints of the database | 2 |
/// | `COUNTERSIGN_WEBHOOKS_KEY` | opens the secrets of endpoints in the database: base64 of 32 random bytes, after it keys of before; or `…_FILE` | none: endpoints of the database wait; required with `COUNTERSIGN_WEBHOOKS=database` |
/// | `COUNTERSIGN_WEBHOOKS_PRIVATE_ADDRESSES` | `allowed`: endpoints of the database may be at plain HTTP and in the own network, for development | `refused` |
/// | `COUNTERSIGN_APPS_FILE` | the apps, see `AppsFile`; of it `forward_notifications` is read, and no secret; read again when it changes | none: nothing is sent on |
/// | `COUNTERSIGN_APPS_INTERVAL` | seconds between looks at it | 2 |
/// | `COUNTERSIGN_FORWARD_INTERVAL` | seconds between looks for notifications to be sent on | 2 |
/// | `COUNTERSIGN_BATCH_MAXIMUM` | events taken over in one commit | 500 |
/// | `COUNTERSIGN_DELIVERY_LEASE` | seconds until another process may try a delivery whose process died | 60 |
/// | `COUNTERSIGN_DELIVERY_TIMEOUT` | seconds one attempt may take in all; the lease is at least 10 longer | 15 |
/// | `COUNTERSIGN_DELIVERY_RETRY_SCHEDULE` | seconds between attempts, with commas | Standard Webhooks, to 75 h |
/// | `COUNTERSIGN_DELIVERY_CONCURRENCY` | attempts at a time to one endpoint | 16 |
/// | `COUNTERSIGN_DELIVERY_CONCURRENCY_MAXIMUM` | attempts at a time in all; half of them are shared out, so that no endpoint takes another's | 256 |
/// | `COUNTERSIGN_DELIVERY_BREAKER_FAILURES` | failures in a row after which an endpoint is sent one webhook at a time, with pauses | 5 |
/// | `COUNTERSIGN_DELIVERY_BREAKER_PAUSE` | seconds, the longest of these pauses; the first is 1 | 30 |
/// | `COUNTERSIGN_DELIVERY_LOOK_INTERVAL` | seconds between looks for what other processes left due | 5 |
/// | `COUNTERSIGN_DELIVERY_DISABLE_AFTER` | seconds of nothing but failure that switch an endpoint off | 432000, 5 days |
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
        webhooksInterval = try settings.duration(
            "webhooks.interval", default: .seconds(2), in: .milliseconds(100)...(.seconds(3_600)))
        seal = try WebhookSettings.seal(settings)
        allowsPrivateAddresses = try WebhookSettings.allowsPrivateAddresses(settings)
        if try settings.string("webhooks")?.lowercased() == Self.inDatabase, seal == nil {
            throw SettingError.missing(
                "webhooks.key", expected: "what opens the secrets of endpoints, since COUNTERSIGN_WEBHOOKS=database")
        }
        apps = try settings.string("apps.file").map { ($0, try AppsFile.load(path: $0, secrets: [])) }
        appsInterval = try settings.duration(
            "apps.interval", default: .seconds(2), in: .milliseconds(100)...(.seconds(3_600)))
        forwardInterval = try settings.duration(
            "forward.interval", default: .seconds(2), in: .milliseconds(50)...(.seconds(3_600)))
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
