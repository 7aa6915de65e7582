import Foundation
package import Kafka
package import ServiceRuntime

/// The settings of Kafka that every service has, read the same way everywhere.
package enum KafkaSettings {
    /// The brokers and whatever else librdkafka is to be told.
    ///
    /// - Throws: `SettingError`.
    package static func read(_ settings: SettingReader, clientId: String) throws -> KafkaConfiguration {
        KafkaConfiguration(
            // brokers, `host:port,…`
            bootstrapServers: try settings.requiredString("kafka.bootstrap_servers"), clientId: clientId,
            properties: try properties(settings))
    }

    /// A consumer of one topic.
    ///
    /// - Parameter batchMaximum: the most records a handler gets at once; four batches may wait.
    /// - Throws: `SettingError`.
    package static func consumer(
        _ settings: SettingReader, group: String, topic: String, batchMaximum: Int
    ) throws -> KafkaConsumerSettings {
        var consumer = KafkaConsumerSettings(groupId: group, topics: [topic])
        // seconds until the others take over from a process that died; brokers allow no less than 6 by default
        consumer.sessionTimeout = try settings.duration(
            "kafka.session_timeout", default: .seconds(10), in: .seconds(1)...(.seconds(300)))
        consumer.fetchWaitMaximum = try fetchWait(settings)
        consumer.batchRecordsMaximum = batchMaximum
        consumer.bufferRecordsMaximum = batchMaximum * 4
        return consumer
    }

    /// How long a broker may keep a fetch open while it has nothing.
    ///
    /// - Throws: `SettingError`.
    package static func fetchWait(_ settings: SettingReader) throws -> Duration {
        // seconds a broker may keep a fetch open that finds nothing; Apache Kafka answers as soon as there is something, Tansu
        // wants 0.01
        try settings.duration(
            "kafka.fetch_wait", default: .milliseconds(500), in: .milliseconds(1)...(.seconds(30)))
    }

    /// The lines `key=value` of a file; empty lines and those that begin with `#` are passed over.
    private static func properties(_ settings: SettingReader) throws -> [String: String] {
        // more librdkafka properties (SASL, TLS), one `key=value` a line
        guard let path = try settings.string("kafka.properties_file") else { return [:] }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SettingsFileError(path: path, problem: "it cannot be read")
        }
        var properties: [String: String] = [:]
        for line in String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline) {
            let text = line.trimmingCharacters(in: .whitespaces)
            if text.isEmpty || text.hasPrefix("#") { continue }
            guard let separator = text.firstIndex(of: "=") else {
                throw SettingsFileError(path: path, problem: "a line is not `key=value`")
            }
            let key = text[..<separator].trimmingCharacters(in: .whitespaces)
            properties[key] = text[text.index(after: separator)...].trimmingCharacters(in: .whitespaces)
        }
        return properties
    }
}
