import CLibrdkafka

/// Which broker coordinates a group, as far as an answer has told.
///
/// librdkafka would look for the coordinator itself, but a search that outlasts its time-out ends the process when the
/// coordinator is there again (its issue 4605, open in 2.14.2). So brokers are asked by their number.
struct CoordinatorDirectory {
    private var brokers: [String: Int32] = [:]

    /// Who is to be asked about a group: its coordinator when that is known, otherwise everybody.
    func candidates(for group: String, of all: [Int32]) -> [Int32] {
        brokers[group].flatMap { all.contains($0) ? [$0] : nil } ?? all
    }

    mutating func note(_ broker: Int32, of group: String) { brokers[group] = broker }

    mutating func forget(_ group: String) { brokers[group] = nil }
}

extension KafkaError {
    /// Whether the broker that was asked is not the one that knows.
    var isFromTheWrongBroker: Bool {
        nativeName == rd_kafka_err2name(RD_KAFKA_RESP_ERR_NOT_COORDINATOR).map { String(cString: $0) }
    }
}
