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
    /// Decides the partition.
    package var key: String
    /// JSON.
    package var data: [UInt8]

    /// Makes a message.
    package init(
        id: String, type: String, source: String, time: Date, subject: String? = nil, traceParent: String? = nil,
        key: String, data: [UInt8]
    ) {
        self.id = id
        self.type = type
        self.source = source
        self.time = time
        self.subject = subject
        self.traceParent = traceParent
        self.key = key
        self.data = data
    }

    /// The headers, in a fixed order.
    package var headers: [(name: String, value: String)] {
        var list = [
            (name: "ce_specversion", value: "1.0"), (name: "ce_id", value: id), (name: "ce_type", value: type),
            (name: "ce_source", value: source), (name: "ce_time", value: MessageCoding.text(time)),
            (name: "content-type", value: "application/json"),
        ]
        if let subject { list.append((name: "ce_subject", value: subject)) }
        if let traceParent { list.append((name: TraceContext.header, value: traceParent)) }
        return list
    }

    /// Reads a message back; nil where a required header is missing.
    package init?(headers: [(name: String, value: String)], key: String, data: [UInt8]) {
        var values: [String: String] = [:]
        for header in headers where values[header.name] == nil { values[header.name] = header.value }
        guard let id = values["ce_id"], let type = values["ce_type"] else { return nil }
        self.init(
            id: id, type: type, source: values["ce_source"] ?? "",
            time: values["ce_time"].flatMap(MessageCoding.date) ?? Date(timeIntervalSince1970: 0),
            subject: values["ce_subject"], traceParent: values[TraceContext.header], key: key, data: data)
    }
}
