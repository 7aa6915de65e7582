import CLibrdkafka

extension KafkaError {
    /// The error for librdkafka's code; call it only for codes other than "no error".
    init(native: rd_kafka_resp_err_t, detail: String? = nil, remedy: String? = nil) {
        let code = Code(native: native)
        self.init(
            code, nativeName: String(cString: rd_kafka_err2name(native)),
            isRetriable: Self.retriableCodes.contains(code) || Self.isTransient(native),
            isFatal: code == .fatal, detail ?? String(cString: rd_kafka_err2str(native)), remedy: remedy)
    }

    private static let retriableCodes: Set<Code> = [.timedOut, .queueFull, .abandoned, .transport, .unknownTopic]

    /// Refusals that pass by themselves: elections, replicas that catch up, a coordinator that loads.
    private static func isTransient(_ native: rd_kafka_resp_err_t) -> Bool {
        switch native {
        case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
            RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
            RD_KAFKA_RESP_ERR_NOT_COORDINATOR, RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS,
            RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH,
            RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, RD_KAFKA_RESP_ERR_NOT_CONTROLLER,
            RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED,
            RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH, RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH,
            RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE,
            RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING, RD_KAFKA_RESP_ERR_INVALID_MSG,
            RD_KAFKA_RESP_ERR_PRODUCER_FENCED,
            RD_KAFKA_RESP_ERR__RETRY, RD_KAFKA_RESP_ERR__WAIT_COORD, RD_KAFKA_RESP_ERR__FATAL:
            // A fatal producer is replaced by its supervisor, so the message can be sent again.
            return true
        default:
            return false
        }
    }
}

extension KafkaError.Code {
    /// The kind that librdkafka's code belongs to; a code that is not known here is `.rejected` from a broker, and
    /// `.native` from the library.
    init(native: rd_kafka_resp_err_t) {
        switch native {
        case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE,
            RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
            self = .timedOut
        case RD_KAFKA_RESP_ERR__QUEUE_FULL:
            self = .queueFull
        case RD_KAFKA_RESP_ERR__DESTROY:
            self = .closed
        case RD_KAFKA_RESP_ERR__PURGE_QUEUE, RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
            self = .abandoned
        case RD_KAFKA_RESP_ERR__INVALID_ARG, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, RD_KAFKA_RESP_ERR_INVALID_PARTITIONS:
            self = .invalidMessage
        case RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, RD_KAFKA_RESP_ERR__RESOLVE,
            RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION, RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
            self = .transport
        case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
            RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
            self = .unknownTopic
        case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
            self = .messageTooLarge
        case RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR__SSL, RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
            self = .authentication
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
            RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
            self = .authorization
        case RD_KAFKA_RESP_ERR__FATAL, RD_KAFKA_RESP_ERR__FENCED:
            self = .fatal
        default:
            self = native.rawValue > 0 ? .rejected : .native
        }
    }
}
