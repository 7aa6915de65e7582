import AppStore
import EventProcessing
import Kafka
import ServiceRuntime

/// What the process can be told.
///
/// | variable | meaning | default |
/// |---|---|---|
/// | `COUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS` | brokers, `host:port,…` | required |
/// | `COUNTERSIGN_KAFKA_PROPERTIES_FILE` | more librdkafka properties (SASL, TLS), one `key=value` a line | none |
/// | `COUNTERSIGN_KAFKA_SESSION_TIMEOUT` | seconds until the others take over from a process that died | 10 |
/// | `COUNTERSIGN_APPS_FILE` | the apps, see `AppsFile` | required |
/// | `COUNTERSIGN_TRUSTED_ROOTS` | SHA-256 fingerprints of root certificates, in place of Apple's | Apple Root CA – G3 |
/// | `COUNTERSIGN_BATCH_MAXIMUM` | submissions judged and acknowledged together | 256 |
struct Configuration: Sendable {
    let kafka: KafkaConfiguration
    let apps: AppsFile
    let roots: TrustedRoots
    let batchMaximum: Int

    init(_ settings: SettingReader) throws {
        kafka = try KafkaSettings.read(settings, clientId: "verification-worker")
        apps = try AppsFile.load(path: settings.requiredString("apps.file"))
        let fingerprints = try settings.stringList("trusted.roots")
        do {
            roots = fingerprints.isEmpty ? .appleRootG3 : try TrustedRoots(fingerprints: fingerprints)
        } catch {
            throw SettingError.invalid(
                "trusted.roots", expected: "SHA-256 fingerprints of 64 hexadecimal digits", found: nil)
        }
        batchMaximum = try settings.int("batch.maximum", default: 256, in: 1...10_000)
    }
}
