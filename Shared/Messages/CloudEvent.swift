package import Foundation

/// A message in CloudEvents 1.0 binary mode for Kafka: the attributes are headers, the value is the data as JSON.
///
/// Source: github.com/cloudevents/spec, kafka-protocol-binding.md, section 3.2.
package struct CloudEvent: Sendable, Hashable {
    /// Unique per source; a message sent again keeps it.
    package var id: String
    /// What it is, ending in a version: `countersign.submission.v1`.
    package var type: String
    /// Which service wrote it.
    package var source: String
    /// When.
    package var time: Date
    /// What it is about: a submission id, a transaction id.
    package var subject: String?
    /// W3C trace context, handed on unchanged.
    package var traceParent: String?
    /// What it belongs to, as the specification's attribute `partitionkey`; decides the partition in some topics only.
    package var key: String
    /// Whether it must be read after what was sent before it with the same key: the key then decides the partition in every
    /// topic.
    ///
    /// It is not sent: what was read has false.
    package var isOrdered: Bool
    /// JSON.
    package var data: [UInt8]

    /// Makes a message.
    package init(
        id: String, type: String, source: String, time: Date, subject: String? = nil, traceParent: String? = nil,
        key: String, isOrdered: Bool = false, data: [UInt8]
    ) {
        self.id = id
        self.type = type
        self.source = source
        self.time = time
        self.subject = subject
        self.traceParent = traceParent
        self.key = key
        self.isOrdered = isOrdered
        self.data = data
    }

    /// The header that has the key where the record has none.
    ///
    /// Source: github.com/cloudevents/spec, extensions/partitioning.md.
    package static let partitionKeyHeader = "ce_partitionkey"

    /// The headers, in a fixed order.
    ///
    /// - Parameter carryingKey: whether the key is among them, since the record is to have none.
    package func headers(carryingKey: Bool) -> [(name: String, value: String)] {
        var list = [
            (name: "ce_specversion", value: "1.0"), (name: "ce_id", value: id), (name: "ce_type", value: type),
            (name: "ce_source", value: source), (name: "ce_time", value: MessageCoding.text(time)),
            (name: "content-type", value: "application/json"),
        ]
        if let subject { list.append((name: "ce_subject", value: subject)) }
        if carryingKey { list.append((name: Self.partitionKeyHeader, value: key)) }
        if let traceParent { list.append((name: TraceContext.header, value: traceParent)) }
        return list
    }

    /// Reads a message back; nil where a required header is missing.
    ///
    /// - Parameter key: the record's; it counts where no header has one.
    package init?(headers: [(name: String, value: String)], key: String, data: [UInt8]) {
        var values: [String: String] = [:]
        for header in headers where values[header.name] == nil { values[header.name] = header.value }
        guard let id = values["ce_id"], let type = values["ce_type"] else { return nil }
        self.init(
            id: id, type: type, source: values["ce_source"] ?? "",
            time: values["ce_time"].flatMap(MessageCoding.date) ?? Date(timeIntervalSince1970: 0),
            subject: values["ce_subject"], traceParent: values[TraceContext.header],
            key: values[Self.partitionKeyHeader] ?? key, data: data)
    }
}
