import EventProcessing
import Kafka
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime

/// What the process can be told, each setting with a comment where it is read.
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
        // what is sold, see `CatalogueFile`; read again when it changes
        catalogueFile = try settings.requiredString("catalogue.file")
        catalogue = try CatalogueFile.load(path: catalogueFile)
        // seconds between looks at it
        catalogueInterval = try settings.duration(
            "catalogue.interval", default: .seconds(2), in: .milliseconds(100)...(.seconds(3600)))
        // the apps, see `AppsFile`; of it `finish`, `account_token`, `forward_notifications` and whether there is a key
        // of the App Store Server API are read, and no secret; read again when it changes
        // Default: none: nothing is finished, no tokens are set, nothing is sent on
        apps = try settings.string("apps.file").map { ($0, try AppsFile.load(path: $0, secrets: [])) }
        // seconds between looks at it
        appsInterval = try settings.duration(
            "apps.interval", default: .seconds(2), in: .milliseconds(100)...(.seconds(3_600)))
        // seconds from a grant until Apple is asked to finish it, for apps with `finish: server`
        finishDelay = try settings.duration("finish.delay", default: QueueAppleCalls.finishDelayDefault)
        // seconds after a refund was told from which on a device's signed transaction without it counts as its
        // reversal, for apps without a key of the App Store Server API; with one, Apple is asked
        deviceDelay = try settings.duration("reversal.device_delay", default: .seconds(Statement.deviceDelayDefault))
        // verdicts settled in one commit
        batchMaximum = try settings.int("batch.maximum", default: 500, in: 1...5_000)
        // seconds until an event is published again, doubled each time
        eventLease = try settings.duration("event.lease", default: .seconds(30))
        // seconds where doubling ends
        eventLeaseMaximum = try settings.duration("event.lease_maximum", default: .seconds(600))
        // seconds after which an event without a delivery raises an alarm; it is sent all the same
        // Default: 300
        eventAlarmAge = try settings.duration("event.alarm_age", default: EventStore.WaitingLimit.ageDefault)
        // seconds between looks for due events, parked orders, and ends by the clock
        redriveInterval = try settings.duration("redrive.interval", default: .seconds(1))
        // seconds: the longest a submission of unknown verdict is put off
        retryDelayMaximum = try settings.duration("retry.delay_maximum", default: .seconds(3600))
        // seconds after which a submission without an outcome raises an alarm; it stays due
        alarmAge = try settings.duration("alarm.age", default: .seconds(3600))
        retention = try Retention(settings)
    }
}
