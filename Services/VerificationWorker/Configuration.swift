import AppStore
import EventProcessing
import Foundation
import Kafka
import Postgres
import ServiceRuntime
import TrustedRootSettings

/// What the process can be told, each setting with a comment where it is read; for how it asks Apple, see `AppStoreSettings`, for what it asks by itself `SweepSettings`, for
/// what expired certificates signed, `ExpiredCertificates`.
struct Configuration: Sendable {
    /// Connections to the database unless configured otherwise: large proofs are rare, and the sweep waits for Apple.
    static let poolSizeDefault = 3

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
        // the apps, see `AppsFile`; read again when it changes
        appsFile = try settings.requiredString("apps.file")
        apps = try AppsFile.load(path: appsFile, secrets: .apple)
        // seconds between looks at it and at its secrets
        appsInterval = try settings.duration(
            "apps.interval", default: .seconds(2), in: .milliseconds(100)...(.seconds(3_600)))
        // SHA-256 fingerprints of the roots of signed data, in place of Apple's
        // Default: Apple Root CA – G3
        roots = try TrustedRootSettings.trusted(settings, for: .signedData)
        // the same, of receipts
        // Default: Apple Root CA
        receiptRoots = try TrustedRootSettings.trusted(settings, for: .receipts)
        xcode = try TrustedRootSettings.xcode(settings)
        // the day (UTC, `2025-07-01`) from which on receipts signed over SHA-1 are refused, by their creation date;
        // `none` refuses none
        // Default: 2025-07-01
        receiptSHA1Until = try Self.day(settings, "receipt.sha1_until", default: ReceiptVerifier.sha1Ended)
        expired = try ExpiredCertificates(settings)
        // submissions judged and acknowledged together
        batchMaximum = try settings.int("batch.maximum", default: 256, in: 1...10_000)
        // the database with proofs that are too large for a message, with revocations that were learnt, with what the
        // sweep asks and finds, and with the calls that fulfillment queues
        // Default: none: such proofs wait, revocations are forgotten with the process, nothing is swept, and it makes
        // no queued calls
        if try settings.secret("postgres.url") != nil {
            var configuration = try PostgresSettings.read(settings, applicationName: "verification-worker")
            // connections to it
            configuration.poolSizeMaximum = try settings.int(
                "postgres.pool_size", default: Self.poolSizeDefault, in: 1...PostgresConfiguration.poolSizeLimit)
            postgres = configuration
        } else {
            postgres = nil
        }
        appStore = try AppStoreSettings(settings)
        // seconds between looks for queued calls
        let interval = try settings.duration(
            "apple_calls.interval", default: .seconds(2), in: .milliseconds(50)...(.seconds(3_600)))
        // `off`: this worker makes no queued calls to Apple; at least one must
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
