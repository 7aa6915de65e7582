import AppStore
import EventProcessing
import Kafka
import Persistence
import Postgres
import ServiceRuntime
import TrustedRootSettings

/// What `receipt-intake` is told; what each setting means stands where it is read, in ``init(_:)``.
struct Configuration: Sendable {
    var postgres: PostgresConfiguration
    var kafka: KafkaConfiguration
    var appsFile: String
    /// What notifications must be signed by; the same as the verification workers trust.
    var roots: TrustedRoots
    var http: ListenAddress
    var submissionLease: Duration
    var redriveInterval: Duration
    var bodyBytesMaximum: Int
    var heldBytesMaximum: Int
    var queueMaximum: Int
    var waitersMaximum: Int
    var connectionsMaximum: Int
    var notificationTime: Duration
    var trustedProxies: [AddressRange]
    var clientAddressHeader: ClientAddressReader.Header
    var requestTime: Duration
    var keySetInterval: Duration
    var limits: IntakeLimits
    /// Nil where no key is configured.
    var seal: SecretSeal?
    var allowsPrivateAddresses: Bool
    var appsInterval: Duration

    /// Reads everything.
    ///
    /// - Throws: `SettingError` for what is missing or impossible.
    init(_ settings: SettingReader) throws {
        postgres = try PostgresSettings.read(settings, applicationName: "receipt-intake")
        kafka = try KafkaSettings.read(settings, clientId: "receipt-intake")
        // the apps that are served, see `AppsFile`
        appsFile = try settings.requiredString("apps.file")
        // SHA-256 fingerprints of the roots of notifications, in place of Apple's
        // Default: Apple Root CA – G3
        roots = try TrustedRootSettings.trusted(settings, for: .signedData)
        // where apps post
        http = try settings.listenAddress("http", port: 8080)
        // seconds after which an accepted purchase without outcome is sent again; then it doubles
        submissionLease = try settings.duration(
            "submission.lease", default: .seconds(30), in: .seconds(1)...SubmissionRedrive.leaseMaximum)
        // seconds between looks for what is due
        redriveInterval = try settings.duration(
            "redrive.interval", default: .seconds(1), in: .milliseconds(10)...(.seconds(3600)))
        // largest body: a receipt in base64 and 300 bytes around it; 2 MiB are some 3,500 purchases, and 6 MiB take the
        // largest that is verified
        bodyBytesMaximum = try settings.int(
            "intake.body_bytes_maximum", default: 2 << 20, in: PostedJWS.bytesMaximum...(16 << 20))
        // bytes of bodies that are being read or wait to be written; the process needs up to three times as much
        heldBytesMaximum = try settings.int(
            "intake.held_bytes_maximum", default: 128 << 20, in: bodyBytesMaximum...(64 << 30))
        // requests that may wait to be written
        queueMaximum = try settings.int("intake.queue_maximum", default: 2000, in: 1...100_000)
        // requests that may wait for an outcome
        waitersMaximum = try settings.int("intake.waiters_maximum", default: 5000, in: 0...100_000)
        // connections at a time
        connectionsMaximum = try settings.int("intake.connections_maximum", default: 4000, in: 1...100_000)
        // seconds that a notification may take from its head to the end of its body; Apple's take milliseconds,
        // and 256 KiB arrive in 5 s at 420 kbit/s
        notificationTime = try settings.duration(
            "intake.notification_time", default: .seconds(5), in: .milliseconds(100)...(.seconds(3_600)))
        // addresses of your proxies, such as `10.0.0.0/8`: of a request from them a header tells the address
        trustedProxies = try settings.addressRanges("intake.trusted_proxies")
        // that header: `Forwarded`, or one with a list of addresses or a single one
        let header = try settings.string("intake.client_address_header", default: "X-Forwarded-For")
        guard let header = ClientAddressReader.Header(header) else {
            throw SettingError.invalid(
                "intake.client_address_header", expected: "the name of a header", found: header)
        }
        clientAddressHeader = header
        // seconds that a request may take from its head to the end of its body: 4 MiB arrive in 60 s at 560 kbit/s
        requestTime = try settings.duration(
            "intake.request_time", default: .seconds(60), in: .seconds(1)...(.seconds(3_600)))
        // seconds between looks at the apps file and its secrets
        appsInterval = try settings.duration(
            "apps.interval", default: .seconds(2), in: .milliseconds(100)...(.seconds(3_600)))
        seal = try WebhookSettings.seal(settings)
        allowsPrivateAddresses = try WebhookSettings.allowsPrivateAddresses(settings)
        // seconds between refreshes of public keys
        keySetInterval = try settings.duration(
            "intake.key_set_interval", default: .seconds(300), in: .seconds(1)...(.seconds(86_400)))
        limits = try IntakeLimits(settings)
    }
}
