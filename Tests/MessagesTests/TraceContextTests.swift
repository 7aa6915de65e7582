import Foundation
import Messages
import Testing

@Suite("W3C trace context")
struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let plain = "00-\(trace)-00f067aa0ba902b7-01"

    @Test func `what a caller sends is handed on, also from a later version`() {
        #expect(TraceContext.traceParent(Self.plain) == Self.plain)
        #expect(TraceContext.traceParent("00-\(Self.trace)-00f067aa0ba902b7-00")?.hasSuffix("-00") == true)
        #expect(TraceContext.traceParent("cc-\(Self.trace)-00f067aa0ba902b7-01") == Self.plain)
        #expect(TraceContext.traceParent("cc-\(Self.trace)-00f067aa0ba902b7-01-what-may-come") == Self.plain)
    }

    @Test(arguments: [
        "", "req_1", "00", String(repeating: "0", count: 55), "00-\(trace)-00f067aa0ba902b7",
        "00-\(trace)-00f067aa0ba902b7-01-more", "cc-\(trace)-00f067aa0ba902b7-01more",
        "ff-\(trace)-00f067aa0ba902b7-01", "00-\(trace)-0000000000000000-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-\(trace.uppercased())-00f067aa0ba902b7-01",
        "00_\(trace)-00f067aa0ba902b7-01", "00-\(trace)-00f067aa0ba902b7-0g", "00-\(trace)-00f067aa0ba902bé-01",
    ])
    func `what is none is left alone`(text: String) {
        #expect(TraceContext.traceParent(text) == nil)
    }

    @Test func `an event tells of the request that it follows from`() throws {
        func traceParent(_ body: String) -> String? { TraceContext.traceParent(event: body.utf8) }
        #expect(traceParent(#"{"id":"evt_1","correlation_id":"\#(Self.plain)","data":{}}"#) == Self.plain)
        #expect(traceParent(#"{"id":"evt_1","correlation_id":"req_1"}"#) == nil)
        #expect(traceParent(#"{"id":"evt_1"}"#) == nil)
        #expect(traceParent("no event") == nil)
    }
}
