import Foundation

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
        guard let read = try? JSONDecoder().decode(Correlated.self, from: Data(event)) else { return nil }
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
