import AppStore
import EventProcessing
import Kafka
import Persistence
import Postgres
import ServiceRuntime
import TrustedRootSettings

/// What `receipt-intake` is told.
///
/// Each key is an environment variable: `http.port` is `COUNTERSIGN_HTTP_PORT`.
///
/// | key | meaning | default |
/// |---|---|---|
/// | `postgres.url` | where the database is | required |
/// | `postgres.pool_size` | connections to it | 8 |
/// | `postgres.prepared_statements` | `false` behind PgBouncer before 1.21 in transaction mode | `true` |
/// | `kafka.bootstrap_servers` | where the broker is | required |
/// | `kafka.properties_file` | further properties of librdkafka, one `key=value` a line | none |
/// | `kafka.fetch_wait` | seconds a broker may keep a fetch open that finds nothing; Tansu wants 0.01 | 0.5 |
/// | `apps.file` | the apps that are served, see `AppsFile` | required |
/// | `trusted.roots` | SHA-256 fingerprints of the roots of notifications, in place of Apple's | Apple Root CA – G3 |
/// | `trusted.denied_certificates` | SHA-256 fingerprints of certificates that no chain may have | none |
/// | `trusted.foreign_roots` | `allowed`: a root that is not Apple's may be among them | `refused` |
/// | `webhooks.key` | seals the secrets of endpoints that are made here, the same as notification's: base64 of 32 random bytes; or `webhooks.key_file` | none: no endpoint can be made |
/// | `webhooks.private_addresses` | `allowed`: endpoints may be at plain HTTP and in the own network, for development | `refused` |
/// | `http.host`, `http.port` | where apps post | 127.0.0.1, 8080 |
/// | `submission.lease` | seconds after which an accepted purchase without outcome is sent again; then it doubles | 30 |
/// | `redrive.interval` | seconds between looks for what is due | 1 |
/// | `intake.body_bytes_maximum` | largest body: a receipt in base64 and 300 bytes around it | 2097152 |
/// | `intake.held_bytes_maximum` | bytes of bodies that are being read or wait to be written | 134217728 |
/// | `intake.queue_maximum` | requests that may wait to be written | 2000 |
/// | `intake.waiters_maximum` | requests that may wait for an outcome | 5000 |
/// | `intake.connections_maximum` | connections at a time | 4000 |
/// | `intake.intents_per_day` | purchase intents that an account may open within 24 hours | 1000 |
/// | `intake.sweeps_per_day` | sweeps that the backends of an app may ask for within 24 hours | 1000 |
/// | `intake.app_posts_per_minute` | proofs that the server API keys of an app may post, a quarter of a second's at once, where its entry has no `backend_posts_per_minute`; 0: no limit | 6000 |
/// | `intake.account_posts_per_minute` | proofs that a player may post, a second's at once | 600 |
/// | `intake.account_ids_per_minute` | of these, ids about which Apple is asked | 30 |
/// | `intake.account_reads_per_minute` | orders, accounts and outcomes that a player may ask for | 1200 |
/// | `intake.account_signatures_per_minute` | subscription offers that a player may have signed | 30 |
/// | `intake.account_waits_maximum` | requests of a player that may wait for something at a time | 20 |
/// | `intake.streams_maximum` | streams of events that may be open at a time | 1000 |
/// | `intake.account_streams_maximum` | of one account | 5 |
/// | `intake.stream_heartbeat` | seconds after which a stream without events has a line; its credentials are checked then | 15 |
/// | `intake.stream_stall_time` | seconds after which a reader that does not take what is written is dropped | 10 |
/// | `intake.address_waits_percent` | of the places to wait for outcomes, versions and events, and of the streams, how many percent the players at one address may have; 100: no limit | 25 |
/// | `intake.address_notifications_maximum` | notifications from one address that may be read at a time | 50 |
/// | `intake.notification_time` | seconds that a notification may take from its head to the end of its body; Apple's take milliseconds | 5 |
/// | `intake.address_requests_per_minute` | requests from an address, an IPv6 network of 64 bits counted as one; 0: no limit | 6000 |
/// | `intake.trusted_proxies` | addresses of your proxies, such as `10.0.0.0/8`: of a request from them a header tells the address | none |
/// | `intake.client_address_header` | that header: `Forwarded`, or one with a list of addresses or a single one | `X-Forwarded-For` |
/// | `intake.request_time` | seconds that a request may take from its head to the end of its body | 60 |
/// | `apps.interval` | seconds between looks at the apps file and its secrets | 2 |
/// | `intake.key_set_interval` | seconds between refreshes of public keys | 300 |
struct Configuration: Sendable {
    /// Where the database is, and how it is used.
    var postgres: PostgresConfiguration
    /// Where the broker is.
    var kafka: KafkaConfiguration
    /// The file of the apps that are served.
    var appsFile: String
    /// What notifications must be signed by; the same as the verification workers trust.
    var roots: TrustedRoots
    /// Where apps post.
    ///
    /// Defaults to 127.0.0.1:8080.
    var http: ListenAddress
    /// After how long a submission without outcome is sent again; doubles with every attempt.
    ///
    /// Defaults to 30 s.
    var submissionLease: Duration
    /// The time between looks for submissions that are due.
    ///
    /// Defaults to 1 s.
    var redriveInterval: Duration
    /// The largest body in bytes.
    ///
    /// Defaults to 2,097,152 (2 MiB), a receipt of some 3,500 purchases; 6 MiB take the largest that is verified.
    var bodyBytesMaximum: Int
    /// The most bytes of bodies that are held: being read, or waiting to be written.
    ///
    /// The process needs up to three times as much. Defaults to 134,217,728 (128 MiB).
    var heldBytesMaximum: Int
    /// The most requests that wait to be written.
    ///
    /// Defaults to 2,000.
    var queueMaximum: Int
    /// The most requests that wait for an outcome.
    ///
    /// Defaults to 5,000.
    var waitersMaximum: Int
    /// The most connections at a time.
    ///
    /// Defaults to 4,000.
    var connectionsMaximum: Int
    /// The most purchase intents that an account of an app may open within 24 hours.
    ///
    /// Defaults to 1,000.
    var intentsPerDay: Int
    /// The most sweeps that backends may ask for of an app within 24 hours.
    ///
    /// Defaults to 1,000.
    var sweepsPerDay: Int
    /// The proofs that the backends of an app may post a minute, in this process; 0 where there is no limit.
    ///
    /// Defaults to 6,000.
    var appPostsPerMinute: Int
    /// The proofs that a player may post a minute, in this process.
    ///
    /// Defaults to 600.
    var accountPostsPerMinute: Int
    /// How many of these may be bare ids.
    ///
    /// Defaults to 30.
    var accountIdsPerMinute: Int
    /// How often a player may read a minute, in this process.
    ///
    /// Defaults to 1,200.
    var accountReadsPerMinute: Int
    /// The subscription offers that a player may have signed a minute, in this process.
    ///
    /// Defaults to 30.
    var accountSignaturesPerMinute: Int
    /// The requests of a player that may wait for an outcome or a version at a time; one more is answered at once.
    ///
    /// Defaults to 20.
    var accountWaitsMaximum: Int
    /// The streams of events that may be open at a time; each is one of the connections.
    ///
    /// Defaults to 1,000.
    var streamsMaximum: Int
    /// How many of these may be one account's.
    ///
    /// Defaults to 5.
    var accountStreamsMaximum: Int
    /// The time after which a stream without events has a line, and its credentials are checked.
    ///
    /// Defaults to 15 s.
    var streamHeartbeat: Duration
    /// The time after which a reader that does not take what is written is dropped.
    ///
    /// Defaults to 10 s.
    var streamStallTime: Duration
    /// Of the places to wait, of each kind, and of the streams: how many percent the players at one address may have.
    ///
    /// Defaults to 25; 100 is no limit.
    var addressWaitsPercent: Int
    /// The notifications of one address that may be read at a time.
    ///
    /// Defaults to 50.
    var addressNotificationsMaximum: Int
    /// From a notification's head to the end of its body.
    ///
    /// Defaults to 5 s: one of 256 KiB arrives at 420 kbit/s.
    var notificationTime: Duration
    /// The requests that may come from an address a minute, in this process; 0 where there is no limit.
    ///
    /// Defaults to 6,000.
    var addressRequestsPerMinute: Int
    /// The proxies whose word counts for where a request comes from.
    ///
    /// Defaults to none: the peer's address counts.
    var trustedProxies: [AddressRange]
    /// The header by which they tell it.
    ///
    /// Defaults to `X-Forwarded-For`.
    var clientAddressHeader: ClientAddressReader.Header
    /// From a request's head to the end of its body.
    ///
    /// Defaults to 60 s: a receipt of 4 MiB arrives at 560 kbit/s.
    var requestTime: Duration
    /// The time between refreshes of public keys.
    ///
    /// Defaults to 300 s.
    var keySetInterval: Duration
    /// Seals the secrets of webhook endpoints; nil where no key is configured.
    var seal: SecretSeal?
    /// Whether webhook endpoints may be in the own network.
    ///
    /// Defaults to false.
    var allowsPrivateAddresses: Bool
    /// The time between looks at the apps file.
    ///
    /// Defaults to 2 s.
    var appsInterval: Duration

    /// Reads everything.
    ///
    /// - Throws: `SettingError` for what is missing or impossible.
    init(_ settings: SettingReader) throws {
        postgres = try PostgresSettings.read(settings, applicationName: "receipt-intake")
        kafka = try KafkaSettings.read(settings, clientId: "receipt-intake")
        appsFile = try settings.requiredString("apps.file")
        roots = try TrustedRootSettings.trusted(settings, for: .signedData)
        http = try settings.listenAddress("http", port: 8080)
        submissionLease = try settings.duration(
            "submission.lease", default: .seconds(30), in: .seconds(1)...SubmissionRedrive.leaseMaximum)
        redriveInterval = try settings.duration(
            "redrive.interval", default: .seconds(1), in: .milliseconds(10)...(.seconds(3600)))
        bodyBytesMaximum = try settings.int(
            "intake.body_bytes_maximum", default: 2 << 20, in: PostedJWS.bytesMaximum...(16 << 20))
        heldBytesMaximum = try settings.int(
            "intake.held_bytes_maximum", default: 128 << 20, in: bodyBytesMaximum...(64 << 30))
        queueMaximum = try settings.int("intake.queue_maximum", default: 2000, in: 1...100_000)
        waitersMaximum = try settings.int("intake.waiters_maximum", default: 5000, in: 0...100_000)
        connectionsMaximum = try settings.int("intake.connections_maximum", default: 4000, in: 1...100_000)
        intentsPerDay = try settings.int("intake.intents_per_day", default: 1000, in: 1...1_000_000)
        sweepsPerDay = try settings.int("intake.sweeps_per_day", default: 1000, in: 1...1_000_000)
        appPostsPerMinute = try settings.int(
            "intake.app_posts_per_minute", default: 6000, in: 0...AppsFile.App.backendPostsMaximum)
        accountPostsPerMinute = try settings.int(
            "intake.account_posts_per_minute", default: 600, in: 1...1_000_000)
        accountIdsPerMinute = try settings.int("intake.account_ids_per_minute", default: 30, in: 1...1_000_000)
        accountReadsPerMinute = try settings.int(
            "intake.account_reads_per_minute", default: 1200, in: 1...1_000_000)
        accountSignaturesPerMinute = try settings.int(
            "intake.account_signatures_per_minute", default: 30, in: 1...1_000_000)
        accountWaitsMaximum = try settings.int("intake.account_waits_maximum", default: 20, in: 1...100_000)
        streamsMaximum = try settings.int("intake.streams_maximum", default: 1000, in: 0...100_000)
        accountStreamsMaximum = try settings.int("intake.account_streams_maximum", default: 5, in: 0...10_000)
        streamHeartbeat = try settings.duration(
            "intake.stream_heartbeat", default: .seconds(15), in: .milliseconds(100)...(.seconds(300)))
        streamStallTime = try settings.duration(
            "intake.stream_stall_time", default: .seconds(10), in: .milliseconds(100)...(.seconds(300)))
        addressWaitsPercent = try settings.int("intake.address_waits_percent", default: 25, in: 1...100)
        addressNotificationsMaximum = try settings.int(
            "intake.address_notifications_maximum", default: 50, in: 1...100_000)
        notificationTime = try settings.duration(
            "intake.notification_time", default: .seconds(5), in: .milliseconds(100)...(.seconds(3_600)))
        addressRequestsPerMinute = try settings.int(
            "intake.address_requests_per_minute", default: 6000, in: 0...10_000_000)
        trustedProxies = try Self.trustedProxies(settings)
        let header = try settings.string("intake.client_address_header", default: "X-Forwarded-For")
        guard let header = ClientAddressReader.Header(header) else {
            throw SettingError.invalid(
                "intake.client_address_header", expected: "the name of a header", found: header)
        }
        clientAddressHeader = header
        requestTime = try settings.duration(
            "intake.request_time", default: .seconds(60), in: .seconds(1)...(.seconds(3_600)))
        appsInterval = try settings.duration(
            "apps.interval", default: .seconds(2), in: .milliseconds(100)...(.seconds(3_600)))
        seal = try WebhookSettings.seal(settings)
        allowsPrivateAddresses = try WebhookSettings.allowsPrivateAddresses(settings)
        keySetInterval = try settings.duration(
            "intake.key_set_interval", default: .seconds(300), in: .seconds(1)...(.seconds(86_400)))
    }

    private static func trustedProxies(_ settings: SettingReader) throws -> [AddressRange] {
        try settings.stringList("intake.trusted_proxies").map { text in
            guard let range = AddressRange(text) else {
                throw SettingError.invalid(
                    "intake.trusted_proxies", expected: "addresses or networks such as 10.0.0.0/8, with commas",
                    found: text)
            }
            return range
        }
    }
}
