package import Foundation

/// A message in CloudEvents 1.0 binary mode for Kafka: the attributes are headers, the value is the data.
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
    /// What the data are, a media type.
    package var contentType: String
    /// Further attributes, by their names without `ce_`: lower-case letters and digits, 20 at most.
    ///
    /// Source: github.com/cloudevents/spec, spec.md, "Extension Context Attributes".
    package var extensions: [String: String]
    /// JSON, where the content type does not say otherwise.
    package var data: [UInt8]

    /// The content type of JSON.
    package static let json = "application/json"

    /// Makes a message.
    package init(
        id: String, type: String, source: String, time: Date, subject: String? = nil, traceParent: String? = nil,
        key: String, isOrdered: Bool = false, contentType: String = Self.json, extensions: [String: String] = [:],
        data: [UInt8]
    ) {
        self.id = id
        self.type = type
        self.source = source
        self.time = time
        self.subject = subject
        self.traceParent = traceParent
        self.key = key
        self.isOrdered = isOrdered
        self.contentType = contentType
        self.extensions = extensions
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
            (name: "content-type", value: contentType),
        ]
        if let subject { list.append((name: "ce_subject", value: subject)) }
        if carryingKey { list.append((name: Self.partitionKeyHeader, value: key)) }
        if let traceParent { list.append((name: TraceContext.header, value: traceParent)) }
        for (name, value) in extensions.sorted(by: { $0.key < $1.key }) {
            list.append((name: Self.prefix + name, value: value))
        }
        return list
    }

    private static let prefix = "ce_"

    /// Reads a message back; nil where a required header is missing.
    ///
    /// - Parameter key: the record's; it counts where no header has one.
    package init?(headers: [(name: String, value: String)], key: String, data: [UInt8]) {
        var (id, type, time, headerKey): (String?, String?, String?, String?)
        self.init(id: "", type: "", source: "", time: Date(timeIntervalSince1970: 0), key: key, data: data)
        for (name, value) in headers {
            switch name {
            case "ce_id": id = id ?? value
            case "ce_type": type = type ?? value
            case "ce_source": source = value
            case "ce_time": time = time ?? value
            case "ce_subject": subject = subject ?? value
            case "ce_specversion": continue
            case "content-type": contentType = value
            case TraceContext.header: traceParent = traceParent ?? value
            case Self.partitionKeyHeader: headerKey = headerKey ?? value
            default:
                guard name.hasPrefix(Self.prefix) else { continue }
                let attribute = String(name.dropFirst(Self.prefix.utf8.count))
                extensions[attribute] = extensions[attribute] ?? value
            }
        }
        guard let id, let type else { return nil }
        self.id = id
        self.type = type
        self.key = headerKey ?? key
        if let date = time.flatMap(MessageCoding.date) { self.time = date }
    }
}

/// W3C trace context, which is handed on as it came: no spans are made here, so the caller's stays the parent.
///
/// A request's `traceparent` is its correlation id. So it is in every row and message that follows from a purchase, and is
/// found again however much later a webhook is sent. `tracestate` is left out, as the recommendation allows.
///
/// Source: W3C Recommendation "Trace Context", section 3.2.
package enum TraceContext {
    /// The name of the header, in HTTP and in Kafka alike.
    package static let header = "traceparent"
    /// `00-`, 32 digits of the trace, `-`, 16 digits of the parent, `-`, 2 digits of flags.
    private static let length = 55

    /// The value of the header in the form of version 00; nil for what is none.
    ///
    /// A later version is read as its first 55 characters, which is what the recommendation asks for.
    package static func traceParent(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        guard bytes.count >= length, bytes[2] == dash, bytes[35] == dash, bytes[52] == dash else { return nil }
        let (version, trace, parent, flags) = (bytes[0..<2], bytes[3..<35], bytes[36..<52], bytes[53..<55])
        guard [version, trace, parent, flags].allSatisfy({ $0.allSatisfy(isDigit) }) else { return nil }
        guard trace.contains(where: { $0 != zero }), parent.contains(where: { $0 != zero }) else { return nil }
        if version.allSatisfy({ $0 == zero }) {
            guard bytes.count == length else { return nil }
        } else if version.allSatisfy({ $0 == UInt8(ascii: "f") }) || (bytes.count > length && bytes[length] != dash) {
            return nil
        }
        return "00" + String(decoding: bytes[2..<length], as: UTF8.self)
    }

    /// The `traceparent` of the request that an event follows from; nil where there was none, or the body is no event.
    ///
    /// - Parameter event: the body of a ``PurchaseEvent``.
    package static func traceParent(event: some Sequence<UInt8>) -> String? {
        guard let read = try? MessageCoding.decode(Correlated.self, from: Array(event)) else { return nil }
        return traceParent(read.correlationId)
    }

    private struct Correlated: Decodable {
        let correlationId: String

        enum CodingKeys: String, CodingKey {
            case correlationId = "correlation_id"
        }
    }

    private static let dash = UInt8(ascii: "-")
    private static let zero = UInt8(ascii: "0")

    /// Lower case only, as the recommendation has it.
    private static func isDigit(_ byte: UInt8) -> Bool {
        (zero...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}
