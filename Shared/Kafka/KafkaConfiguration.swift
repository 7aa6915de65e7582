/// How to reach a Kafka cluster; shared by all clients of a process.
///
/// Printing it shows the names of `properties` and never their values, so that a password cannot reach a log.
public struct KafkaConfiguration: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Brokers to ask first, as `host:port,host:port`.
    public var bootstrapServers: String
    /// The name that brokers log and meter us by.
    public var clientId: String
    /// Any further property of librdkafka, such as `security.protocol`, `sasl.username` or `ssl.ca.location`.
    ///
    /// What the library's promises rest on (see `reservedProperties`) is refused with `.configuration`.
    /// Defaults to none.
    public var properties: [String: String]
    /// The first wait before connecting again to a broker that refused.
    ///
    /// Defaults to 100 ms.
    public var reconnectBackoffMinimum: Duration
    /// The longest wait before connecting again; recovery after an outage takes about as long.
    ///
    /// Defaults to 2 s.
    public var reconnectBackoffMaximum: Duration

    /// Makes a configuration; nothing is connected or checked yet.
    public init(
        bootstrapServers: String, clientId: String, properties: [String: String] = [:],
        reconnectBackoffMinimum: Duration = .milliseconds(100), reconnectBackoffMaximum: Duration = .seconds(2)
    ) {
        self.bootstrapServers = bootstrapServers
        self.clientId = clientId
        self.properties = properties
        self.reconnectBackoffMinimum = reconnectBackoffMinimum
        self.reconnectBackoffMaximum = reconnectBackoffMaximum
    }

    /// Properties that may not be set from outside, since at-least-once delivery rests on them.
    public static let reservedProperties: Set<String> = [
        "acks", "request.required.acks", "enable.idempotence", "enable.auto.commit", "auto.commit.enable",
        "enable.auto.offset.store", "auto.offset.reset", "partition.assignment.strategy", "group.id",
        "transactional.id", "log.queue", "group.protocol", "enable.partition.eof", "message.timeout.ms",
        "delivery.timeout.ms",
    ]

    /// Servers, client id and the names of the properties; values are redacted.
    public var description: String {
        let names = properties.keys.sorted().map { "\($0)=<redacted>" }.joined(separator: " ")
        return "KafkaConfiguration(\(bootstrapServers), \(clientId)\(names.isEmpty ? "" : ", \(names)"))"
    }

    /// The same as `description`.
    public var debugDescription: String { description }

    /// What `dump` and test failures show: the same as `description`.
    public var customMirror: Mirror { Mirror(self, children: ["configuration": description]) }
}
