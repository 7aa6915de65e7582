import EventProcessing
import Kafka
import Persistence
import Postgres
import PurchaseModel
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
/// | `COUNTERSIGN_CATALOGUE_FILE` | what is sold, see `CatalogueFile`; read again when it changes | required |
/// | `COUNTERSIGN_CATALOGUE_INTERVAL` | seconds between looks at it | 2 |
/// | `COUNTERSIGN_APPS_FILE` | the apps, see `AppsFile`; of it `finish`, `account_token`, `forward_notifications` and whether there is a key of the App Store Server API are read, and no secret; read again when it changes | none: nothing is finished, no tokens are set, nothing is sent on |
/// | `COUNTERSIGN_APPS_INTERVAL` | seconds between looks at it | 2 |
/// | `COUNTERSIGN_FINISH_DELAY` | seconds from a grant until Apple is asked to finish it, for apps with `finish: server` | 60 |
/// | `COUNTERSIGN_REVERSAL_DEVICE_DELAY` | seconds after a refund was told from which on a device's signed transaction without it counts as its reversal, for apps without a key of the App Store Server API; with one, Apple is asked | 86400 |
/// | `COUNTERSIGN_BATCH_MAXIMUM` | verdicts settled in one commit | 500 |
/// | `COUNTERSIGN_EVENT_LEASE` | seconds until an event is published again, doubled each time | 30 |
/// | `COUNTERSIGN_EVENT_LEASE_MAXIMUM` | seconds where doubling ends | 600 |
/// | `COUNTERSIGN_EVENT_ALARM_AGE` | seconds after which an event without a delivery raises an alarm; it is sent all the same | 300 |
/// | `COUNTERSIGN_REDRIVE_INTERVAL` | seconds between looks for due events, parked orders, and ends by the clock | 1 |
/// | `COUNTERSIGN_RETRY_DELAY_MAXIMUM` | seconds: the longest a submission of unknown verdict is put off | 3600 |
/// | `COUNTERSIGN_ALARM_AGE` | seconds after which a submission without an outcome raises an alarm; it stays due | 3600 |
/// | `COUNTERSIGN_RETENTION_…` | days after which what expires goes | see ``Retention`` |
struct Configuration: Sendable {
    let kafka: KafkaConfiguration
    let postgres: PostgresConfiguration
    let catalogueFile: String
    let catalogue: CatalogueFile.Loaded
    let catalogueInterval: Duration
    /// The apps file as it was read; nil where none is configured.
    let apps: (path: String, apps: AppsFile)?
    let appsInterval: Duration
    let finishDelay: Duration
    let deviceDelay: Duration
    let batchMaximum: Int
    let eventLease: Duration
    let eventLeaseMaximum: Duration
    let eventAlarmAge: Duration
    let redriveInterval: Duration
    let retryDelayMaximum: Duration
    let alarmAge: Duration
    let retention: Retention

    init(_ settings: SettingReader) throws {
        kafka = try KafkaSettings.read(settings, clientId: "fulfillment")
        postgres = try PostgresSettings.read(settings, applicationName: "fulfillment")
        catalogueFile = try settings.requiredString("catalogue.file")
        catalogue = try CatalogueFile.load(path: catalogueFile)
        catalogueInterval = try settings.duration(
            "catalogue.interval", default: .seconds(2), in: .milliseconds(100)...(.seconds(3600)))
        apps = try settings.string("apps.file").map { ($0, try AppsFile.load(path: $0, secrets: [])) }
        appsInterval = try settings.duration(
            "apps.interval", default: .seconds(2), in: .milliseconds(100)...(.seconds(3_600)))
        finishDelay = try settings.duration("finish.delay", default: QueueAppleCalls.Limit.finishDelay)
        deviceDelay = try settings.duration("reversal.device_delay", default: .seconds(DeviceRule.Limit.delay))
        batchMaximum = try settings.int("batch.maximum", default: 500, in: 1...5_000)
        eventLease = try settings.duration("event.lease", default: .seconds(30))
        eventLeaseMaximum = try settings.duration("event.lease_maximum", default: .seconds(600))
        eventAlarmAge = try settings.duration("event.alarm_age", default: EventStore.WaitingLimit.ageDefault)
        redriveInterval = try settings.duration("redrive.interval", default: .seconds(1))
        retryDelayMaximum = try settings.duration("retry.delay_maximum", default: .seconds(3600))
        alarmAge = try settings.duration("alarm.age", default: .seconds(3600))
        retention = try Retention(settings)
    }
}
