import CLibrdkafka
import Foundation

/// Copies messages out of librdkafka; the C message may be destroyed right afterwards.
struct RecordDecoder {
    /// The last topic's name: most neighbours are of the same topic, and making a string for each costs.
    private var topicText: [CChar] = [0]
    private var topicName = ""

    /// The record, or the error that a message carries instead of one.
    mutating func decode(_ message: UnsafePointer<rd_kafka_message_t>) -> Result<KafkaRecord, KafkaError> {
        let native = message.pointee
        guard native.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
            // The text names the topic, which the code's own does not.
            let detail = rd_kafka_message_errstr(message).map { String(cString: $0) }
            return .failure(KafkaError(native: native.err, detail: detail))
        }
        guard let topic = native.rkt else {
            return .failure(KafkaError(.native, "a message without a topic"))
        }
        var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let milliseconds = rd_kafka_message_timestamp(message, &kind)
        return .success(
            KafkaRecord(
                topic: name(of: topic), partition: native.partition, offset: native.offset,
                key: Self.bytes(native.key, native.key_len), value: Self.bytes(native.payload, native.len),
                headers: Self.headers(message),
                timestamp: kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE || milliseconds < 0
                    ? nil : Date(timeIntervalSince1970: Double(milliseconds) / 1_000)))
    }

    /// The records of a fetch event, which the caller destroys; errors in it go to `refused`.
    mutating func decode(event: OpaquePointer, refused: (KafkaError) -> Void = { _ in }) -> [KafkaRecord] {
        var records: [KafkaRecord] = []
        while let message = rd_kafka_event_message_next(event) {
            switch decode(message) {
            case .success(let record): records.append(record)
            case .failure(let error): refused(error)
            }
        }
        return records
    }

    private mutating func name(of topic: OpaquePointer) -> String {
        guard let text = rd_kafka_topic_name(topic) else { return "" }
        if strcmp(text, topicText) != 0 {
            topicText = Array(UnsafeBufferPointer(start: text, count: strlen(text) + 1))
            topicName = String(cString: text)
        }
        return topicName
    }

    private static func bytes(_ pointer: UnsafeRawPointer?, _ count: Int) -> [UInt8]? {
        guard let pointer else { return nil }
        return Array(UnsafeRawBufferPointer(start: pointer, count: count))
    }

    private static func headers(_ message: UnsafePointer<rd_kafka_message_t>) -> [KafkaHeader] {
        var list: OpaquePointer?
        guard rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR, let list else { return [] }
        var headers: [KafkaHeader] = []
        headers.reserveCapacity(rd_kafka_header_cnt(list))
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var size = 0
        while rd_kafka_header_get_all(list, headers.count, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR,
            let text = name
        {
            headers.append(KafkaHeader(name: String(cString: text), value: bytes(value, size)))
        }
        return headers
    }
}
