import CLibrdkafka

/// The version of the librdkafka that this process runs with, such as `2.8.0`.
public let librdkafkaVersion = String(cString: rd_kafka_version_str())

/// The oldest librdkafka that works: older ones misread some brokers' ApiVersions answer, or have metadata faults.
let librdkafkaVersionMinimum: (number: Int32, text: String) = (0x0203_0000, "2.3.0")

/// Throws `.unsupportedLibrary` when the installed librdkafka is too old.
func requireSupportedLibrdkafka(version: Int32 = rd_kafka_version()) throws(KafkaError) {
    guard version >= librdkafkaVersionMinimum.number else {
        throw KafkaError(
            .unsupportedLibrary,
            "librdkafka \(librdkafkaVersion) is too old, \(librdkafkaVersionMinimum.text) or newer is needed")
    }
}
