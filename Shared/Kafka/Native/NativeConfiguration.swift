import CLibrdkafka

/// librdkafka's configuration object: destroyed here unless a client took it.
struct NativeConfiguration: ~Copyable {
    private let pointer: OpaquePointer

    private init() { pointer = rd_kafka_conf_new() }

    /// Starts with the properties that every client has, then what the role sets, then what the user sets.
    ///
    /// Throws `.unsupportedLibrary`, or `.configuration` for a property that is reserved, unknown or not valid.
    static func make(
        _ configuration: KafkaConfiguration, role: [(String, String)]
    ) throws(KafkaError) -> NativeConfiguration {
        try requireSupportedLibrdkafka()
        let native = NativeConfiguration()
        try native.apply(configuration, role: role)
        return native
    }

    private borrowing func apply(_ configuration: KafkaConfiguration, role: [(String, String)]) throws(KafkaError) {
        let common = [
            ("bootstrap.servers", configuration.bootstrapServers),
            ("client.id", configuration.clientId),
            ("reconnect.backoff.ms", configuration.reconnectBackoffMinimum.milliseconds),
            ("reconnect.backoff.max.ms", configuration.reconnectBackoffMaximum.milliseconds),
            ("socket.keepalive.enable", "true"),
            // Small requests, such as a lone message or a heartbeat, must not wait for company.
            ("socket.nagle.disable", "true"),
            // A broker that closes idle connections is no news.
            ("log.connection.close", "false"),
            ("allow.auto.create.topics", "false"),
        ]
        for (name, value) in common + role { try set(name, value) }
        for (name, value) in configuration.properties.sorted(by: { $0.key < $1.key }) {
            guard !KafkaConfiguration.reservedProperties.contains(name) else {
                throw KafkaError(.configuration, "the property \(name) is set by the library")
            }
            try set(name, value)
        }
    }

    deinit { rd_kafka_conf_destroy(pointer) }

    /// Sets a property; the error names it and leaves out its value, which librdkafka's own text repeats.
    private borrowing func set(_ name: String, _ value: String) throws(KafkaError) {
        switch rd_kafka_conf_set(pointer, name, value, nil, 0) {
        case RD_KAFKA_CONF_OK: return
        case RD_KAFKA_CONF_UNKNOWN: throw KafkaError(.configuration, "there is no property \(name)")
        default: throw KafkaError(.configuration, "the value of the property \(name) is not valid")
        }
    }

    /// Which kinds of events the client's queues carry; none of them calls back.
    borrowing func enable(events: Int32) {
        rd_kafka_conf_set_events(pointer, events)
    }

    /// Drops librdkafka's log lines, for a client whose queue nobody polls.
    borrowing func disableLogging() {
        rd_kafka_conf_set_log_cb(pointer, nil)
    }

    /// Sets who is shown OpenSSL's verdict on each certificate of a broker's chain; 1 accepts it, 0 does not.
    borrowing func setCertificateObserver(opaque: UnsafeMutableRawPointer, _ observer: @escaping CertificateObserver) {
        rd_kafka_conf_set_opaque(pointer, opaque)
        // A librdkafka without TLS refuses this, and has no certificates.
        rd_kafka_conf_set_ssl_cert_verify_cb(pointer, observer)
    }

    /// librdkafka's callback for certificates: client, broker's name and id, verdict, depth, the certificate and its
    /// size, room for a reason and its size, the opaque pointer.
    typealias CertificateObserver =
        @convention(c) (
            OpaquePointer?, UnsafePointer<CChar>?, Int32, UnsafeMutablePointer<Int32>?, Int32, UnsafePointer<CChar>?,
            Int, UnsafeMutablePointer<CChar>?, Int, UnsafeMutableRawPointer?
        ) -> Int32

    /// Makes a client, which takes the configuration; throws `.configuration` when the properties do not fit together.
    consuming func makeClient(
        _ type: rd_kafka_type_t, hiding configuration: KafkaConfiguration
    ) throws(KafkaError) -> ThreadSafeHandle {
        var text = [CChar](repeating: 0, count: 512)
        guard let client = rd_kafka_new(type, pointer, &text, text.count) else {
            _ = consume self
            let detail = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            throw KafkaError(.configuration, configuration.redacting(detail))
        }
        discard self
        return ThreadSafeHandle(pointer: client)
    }
}

extension KafkaConfiguration {
    /// Takes the values of properties that sound secret out of a text of librdkafka's.
    func redacting(_ text: String) -> String {
        let secretive = ["password", "secret", "pem", "token", "jaas", "sasl", "key", "oauth"]
        var result = text
        for (name, value) in properties where !value.isEmpty && secretive.contains(where: name.contains) {
            result = result.split(separator: value, omittingEmptySubsequences: false).joined(separator: "<redacted>")
        }
        return result
    }
}

extension Duration {
    /// Whole milliseconds as text, as librdkafka's properties take them.
    var milliseconds: String { String(wholeMilliseconds) }

    /// Whole milliseconds, at most what a C `int` holds.
    var wholeMilliseconds: Int32 {
        let (seconds, attoseconds) = components
        guard seconds < 2_000_000 else { return 2_000_000_000 }
        return Int32(max(0, seconds * 1_000 + attoseconds / 1_000_000_000_000_000))
    }
}
