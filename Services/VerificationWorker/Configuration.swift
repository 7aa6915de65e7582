import AppStore
import EventProcessing
import Foundation
import Kafka
import Postgres
import ServiceRuntime
import TrustedRootSettings

/// What the process can be told; for how it asks Apple, see `AppStoreSettings`, for what it asks by itself `SweepSettings`, for
/// what expired certificates signed, `ExpiredCertificates`.
///
/// | variable | meaning | default |
/// |---|---|---|
/// | `COUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS` | brokers, `host:port,…` | required |
/// | `COUNTERSIGN_KAFKA_PROPERTIES_FILE` | more librdkafka properties (SASL, TLS), one `key=value` a line | none |
/// | `COUNTERSIGN_KAFKA_SESSION_TIMEOUT` | seconds until the others take over from a process that died | 10 |
/// | `COUNTERSIGN_KAFKA_FETCH_WAIT` | seconds a broker may keep a fetch open that finds nothing; Tansu wants 0.01 | 0.5 |
/// | `COUNTERSIGN_APPS_FILE` | the apps, see `AppsFile`; read again when it changes | required |
/// | `COUNTERSIGN_APPS_INTERVAL` | seconds between looks at it and at its secrets | 2 |
/// | `COUNTERSIGN_TRUSTED_ROOTS` | SHA-256 fingerprints of the roots of signed data, in place of Apple's | Apple Root CA – G3 |
/// | `COUNTERSIGN_RECEIPT_ROOTS` | the same, of receipts | Apple Root CA |
/// | `COUNTERSIGN_TRUSTED_DENIED_CERTIFICATES` | SHA-256 fingerprints of certificates that no chain may have | none |
/// | `COUNTERSIGN_RECEIPT_SHA1_UNTIL` | the day (UTC, `2025-07-01`) from which on receipts signed over SHA-1 are refused, by their creation date; `none` refuses none | 2025-07-01 |
/// | `COUNTERSIGN_TRUSTED_FOREIGN_ROOTS` | `allowed`: roots that are not Apple's may be among both | `refused` |
/// | `COUNTERSIGN_XCODE_CERTIFICATES` | development servers: SHA-256 fingerprints of certificates of Xcode whose signed transactions are taken, as the sandbox's; refuses the start where a root of Apple's is trusted | none |
/// | `COUNTERSIGN_BATCH_MAXIMUM` | submissions judged and acknowledged together | 256 |
/// | `COUNTERSIGN_POSTGRES_URL` | the database with proofs that are too large for a message, with revocations that were learnt, with what the sweep asks and finds, and with the calls that fulfillment queues | none: such proofs wait, revocations are forgotten with the process, nothing is swept, and it makes no queued calls |
/// | `COUNTERSIGN_POSTGRES_POOL_SIZE` | connections to it | 3 |
/// | `COUNTERSIGN_APPLE_CALLS` | `off`: this worker makes no queued calls to Apple; at least one must | `on` |
/// | `COUNTERSIGN_APPLE_CALLS_INTERVAL` | seconds between looks for queued calls | 2 |
/// | `COUNTERSIGN_POSTGRES_PREPARED_STATEMENTS` | `false` behind PgBouncer before 1.21 in transaction mode | `true` |
struct Configuration: Sendable {
    enum Limit {
        /// Connections to the database unless configured otherwise: large proofs are rare, and the sweep waits for Apple.
        static let poolSize = 3
    }

    let kafka: KafkaConfiguration
    let apps: AppsFile
    /// The file that ``apps`` was read from.
    let appsFile: String
    /// The time between looks at it.
    let appsInterval: Duration
    let roots: TrustedRoots
    let receiptRoots: TrustedRoots
    /// The certificates of Xcode that a development server takes; nil everywhere else.
    let xcode: TrustedRoots?
    /// The creation date from which on receipts that are signed over SHA-1 are refused; nil for none.
    let receiptSHA1Until: Date?
    let expired: ExpiredCertificates
    let batchMaximum: Int
    let postgres: PostgresConfiguration?
    let appStore: AppStoreSettings
    /// The time between looks for queued calls; nil where this worker makes none.
    let callsInterval: Duration?

    private enum Switch: String, CaseIterable {
        case on, off
    }
    let sweep: SweepSettings

    init(_ settings: SettingReader) throws {
        kafka = try KafkaSettings.read(settings, clientId: "verification-worker")
        appsFile = try settings.requiredString("apps.file")
        apps = try AppsFile.load(path: appsFile, secrets: .apple)
        appsInterval = try settings.duration(
            "apps.interval", default: .seconds(2), in: .milliseconds(100)...(.seconds(3_600)))
        roots = try TrustedRootSettings.trusted(settings, for: .signedData)
        receiptRoots = try TrustedRootSettings.trusted(settings, for: .receipts)
        xcode = try TrustedRootSettings.xcode(settings)
        receiptSHA1Until = try Self.day(settings, "receipt.sha1_until", default: ReceiptVerifier.sha1Ended)
        expired = try ExpiredCertificates(settings)
        batchMaximum = try settings.int("batch.maximum", default: 256, in: 1...10_000)
        if try settings.secret("postgres.url") != nil {
            var configuration = try PostgresSettings.read(settings, applicationName: "verification-worker")
            configuration.poolSizeMaximum = try settings.int(
                "postgres.pool_size", default: Limit.poolSize, in: 1...PostgresConfiguration.poolSizeLimit)
            postgres = configuration
        } else {
            postgres = nil
        }
        appStore = try AppStoreSettings(settings)
        let interval = try settings.duration(
            "apple_calls.interval", default: .seconds(2), in: .milliseconds(50)...(.seconds(3_600)))
        callsInterval = try settings.choice("apple_calls", default: Switch.on) == .on ? interval : nil
        sweep = try SweepSettings(settings)
    }

    /// The beginning of a day in UTC; nil for `none`.
    static func day(_ settings: SettingReader, _ key: String, default day: Date) throws(SettingError) -> Date? {
        guard let text = try settings.string(key) else { return day }
        guard text.lowercased() != "none" else { return nil }
        // What the reader accepts beside this form would be somebody's mistake.
        let format = Date.ISO8601FormatStyle().year().month().day()
        guard let date = try? Date(text, strategy: format), date.formatted(format) == text else {
            throw .invalid(key, expected: "a day such as 2025-07-01, or none", found: text)
        }
        return date
    }
}
