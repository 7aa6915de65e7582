import CLibrdkafka
import Synchronization

/// Why connections fail: what librdkafka tells while a call waits for an answer that does not come.
///
/// librdkafka tries for ever and the call just times out; the cause is in events that it sends beside, and it repeats
/// the same one only every 30 s, so the last is remembered until a call succeeds.
final class ConnectionWatch: Sendable {
    private struct State {
        var cause: KafkaError?
        /// What OpenSSL found about a broker's certificate, which the events leave out.
        var certificate: CertificateProblem?
    }

    private let configuration: KafkaConfiguration
    private let state = Mutex(State())

    init(configuration: KafkaConfiguration) {
        self.configuration = configuration
    }

    /// Notes what came since the last look.
    func update(_ client: OpaquePointer) {
        for (code, text) in Self.errors(of: client) {
            state.withLock { state in
                let error = ConnectionTrouble.error(
                    code, configuration.redacting(text), certificate: state.certificate)
                // One that needs somebody to act outweighs "no connection", which follows from it.
                guard let error, state.cause?.code != .authentication || error.code == .authentication else { return }
                // That all are down says less than why one of them is.
                if state.cause != nil, code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN { return }
                state.cause = error
            }
        }
    }

    /// Forgets all, since a call succeeded.
    func forget(_ client: OpaquePointer) {
        _ = Self.errors(of: client)
        state.withLock { $0 = State() }
    }

    /// The cause instead of an error that only says that nobody answered.
    func explain(_ error: KafkaError) -> KafkaError {
        guard error.code == .timedOut || error.code == .transport else { return error }
        return state.withLock { $0.cause } ?? error
    }

    /// Notes OpenSSL's verdict on a certificate; called on librdkafka's threads.
    func note(certificate: CertificateProblem?) {
        guard let certificate else { return }
        state.withLock { $0.certificate = certificate }
    }

    /// Takes the error events off the client's main queue.
    private static func errors(of client: OpaquePointer) -> [(rd_kafka_resp_err_t, String)] {
        let queue = rd_kafka_queue_get_main(client)
        defer { rd_kafka_queue_destroy(queue) }
        var errors: [(rd_kafka_resp_err_t, String)] = []
        while let event = rd_kafka_queue_poll(queue, 0) {
            if rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR {
                let text = rd_kafka_event_error_string(event).map { String(cString: $0) }
                errors.append((rd_kafka_event_error(event), text ?? ""))
            }
            rd_kafka_event_destroy(event)
        }
        return errors
    }
}

extension NativeConfiguration {
    /// Has OpenSSL's verdicts on certificates noted; it changes none of them.
    ///
    /// The watch must outlive the client.
    borrowing func watchCertificates(with watch: ConnectionWatch) {
        setCertificateObserver(opaque: Unmanaged.passUnretained(watch).toOpaque()) {
            _, _, _, verdict, _, _, _, _, _, opaque in
            guard let verdict, let opaque else { return 0 }
            let watch = Unmanaged<ConnectionWatch>.fromOpaque(opaque).takeUnretainedValue()
            watch.note(certificate: CertificateProblem(verdict.pointee))
            return verdict.pointee == 0 ? 1 : 0
        }
    }
}
