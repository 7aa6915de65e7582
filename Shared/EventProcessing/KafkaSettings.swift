import Foundation
public import Kafka
public import ServiceRuntime

/// The settings of Kafka that every service has, read the same way everywhere.
public enum KafkaSettings {
    /// The brokers and whatever else librdkafka is to be told.
    ///
    /// - Throws: `SettingError`.
    public static func read(_ settings: SettingReader, clientId: String) throws -> KafkaConfiguration {
        KafkaConfiguration(
            bootstrapServers: try settings.requiredString("kafka.bootstrap_servers"), clientId: clientId,
            properties: try properties(settings))
    }

    /// A consumer of one topic.
    ///
    /// - Parameter batchMaximum: the most records a handler gets at once; four batches may wait.
    public static func consumer(group: String, topic: String, batchMaximum: Int) -> KafkaConsumerSettings {
        var consumer = KafkaConsumerSettings(groupId: group, topics: [topic])
        consumer.batchRecordsMaximum = batchMaximum
        consumer.bufferRecordsMaximum = batchMaximum * 4
        return consumer
    }

    /// The lines `key=value` of a file; empty lines and those that begin with `#` are passed over.
    private static func properties(_ settings: SettingReader) throws -> [String: String] {
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
