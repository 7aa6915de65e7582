import HTTPTypes
import NIOCore
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite("Where a request comes from")
struct ClientAddressTests {
    private func client(
        _ peer: String, _ headers: [(String, String)] = [], trusted: [String] = ["10.0.0.0/8", "2001:db8:1::/48"],
        header: String = "X-Forwarded-For"
    ) throws -> ClientAddressReader.Client? {
        var fields = HTTPFields()
        for (name, value) in headers {
            fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        let reader = ClientAddressReader(
            trusted: try trusted.map { try #require(AddressRange($0)) },
            header: try #require(ClientAddressReader.Header(header)))
        return reader.client(try SocketAddress(ipAddress: peer, port: 1), fields)
    }

    @Test(
        "the rightmost address that is no trusted proxy's is the client's, whatever stands left of it",
        arguments: [
            ([("X-Forwarded-For", "203.0.113.7")], "203.0.113.7"),
            ([("x-forwarded-for", "1.1.1.1, 203.0.113.7, 10.1.2.3")], "203.0.113.7"),
            ([("X-Forwarded-For", "1.1.1.1"), ("X-Forwarded-For", "203.0.113.7:4711")], "203.0.113.7"),
            ([("X-Forwarded-For", "[2001:db8:2::9]:80")], "2001:db8:2:0:0:0:0:9"),
            ([("X-Forwarded-For", "2001:db8:2::9 , 2001:db8:1::5")], "2001:db8:2:0:0:0:0:9"),
            ([("X-Forwarded-For", "::ffff:203.0.113.7")], "203.0.113.7"),
            ([("X-Forwarded-For", "203.0.113.7, unknown")], "10.9.9.9"),
            ([("X-Forwarded-For", "203.0.113.7,")], "10.9.9.9"),
            ([("X-Forwarded-For", "203.0.113.7, junk, 10.3.3.3")], "10.3.3.3"),
            ([("X-Forwarded-For", "10.1.1.1")], "10.1.1.1"),
            ([("Forwarded", "for=203.0.113.7")], "10.9.9.9"),
            ([], "10.9.9.9"),
        ])
    func forwardedFor(headers: [(String, String)], address: String) throws {
        #expect(try client("10.9.9.9", headers)?.address.description == address)
        #expect(try client("10.9.9.9", headers)?.isCounted == true)
    }

    @Test(
        "`Forwarded` is read as RFC 7239 has it",
        arguments: [
            ("for=203.0.113.7;proto=https;by=10.1.1.1", "203.0.113.7"),
            (#"for=1.1.1.1, For="[2001:db8:2::9]:4711";host="a, b;for=2.2.2.2""#, "2001:db8:2:0:0:0:0:9"),
            ("for=203.0.113.7, for=10.2.2.2", "203.0.113.7"), ("for=_hidden", "10.9.9.9"), ("proto=https", "10.9.9.9"),
        ])
    func forwarded(value: String, address: String) throws {
        #expect(
            try client("10.9.9.9", [("Forwarded", value)], header: "forwarded")?.address.description == address)
    }

    @Test("nobody but a trusted proxy is believed, and a long header is read to its twentieth entry")
    func spoofed() throws {
        let spoofed = [("X-Forwarded-For", "203.0.113.7")]
        #expect(try client("198.51.100.1", spoofed)?.address.description == "198.51.100.1")
        #expect(try client("198.51.100.1", spoofed, trusted: [])?.address.description == "198.51.100.1")
        let long = Array(repeating: "10.1.1.1", count: 30)
        #expect(
            try client("10.9.9.9", [("X-Forwarded-For", (["1.1.1.1"] + long).joined(separator: ","))])?.address
                .description
                == "10.1.1.1")
        #expect(
            try client("10.9.9.9", [("X-Real-IP", "1.1.1.1")], header: "X-Real-IP")?.address.description == "1.1.1.1")
    }

    @Test("without trusted proxies a peer in a private network is not counted: all players may be behind it")
    func unnamed() throws {
        for peer in ["127.0.0.1", "10.1.1.1", "172.20.0.1", "192.168.1.1", "100.64.1.1", "::1", "fd00::1", "fe80::1"] {
            #expect(try client(peer, trusted: [])?.isCounted == false, "\(peer)")
        }
        for peer in ["172.32.0.1", "8.8.8.8", "2a00::1", "100.128.0.1"] {
            #expect(try client(peer, trusted: [])?.isCounted == true, "\(peer)")
        }
    }

    @Test("of IPv6 the first 64 bits are one network; of IPv4 each address is")
    func networks() throws {
        func network(_ text: String) throws -> ClientAddress { try #require(ClientAddress(text)).network }
        #expect(try network("2001:db8:0:1::1") == network("2001:db8:0:1:ffff:ffff:ffff:ffff"))
        #expect(try network("2001:db8:0:1::1") != network("2001:db8:0:2::1"))
        #expect(try network("203.0.113.7") != network("203.0.113.8"))
        #expect(try network("203.0.113.7") == network("::ffff:203.0.113.7"))
    }

    @Test("ranges hold what begins alike, and nothing else is a range")
    func ranges() throws {
        func holds(_ range: String, _ address: String) throws -> Bool {
            try #require(AddressRange(range)).contains(try #require(ClientAddress(address)))
        }
        #expect(try holds("10.0.0.0/8", "10.255.1.1") && !holds("10.0.0.0/8", "11.0.0.0"))
        #expect(try holds("203.0.113.7", "203.0.113.7") && !holds("203.0.113.7", "203.0.113.6"))
        #expect(try holds("0.0.0.0/0", "1.2.3.4") && !holds("0.0.0.0/0", "2001::1"))
        #expect(try holds("2001:db8::/33", "2001:db8:7fff::1") && !holds("2001:db8::/33", "2001:db8:8000::1"))
        #expect(try holds("2001:db8::1/127", "2001:db8::") && !holds("2001:db8::1/127", "2001:db8::2"))
        #expect(try holds("::/0", "1.2.3.4") && holds("::/0", "2001::1"))
        for text in [
            "", "10.0.0.0/33", "10.0.0/8", "host", "10.0.0.0/", "10.0.0.0/-1", "fe80::1%eth0", "::/129", "1/2/3",
        ] {
            #expect(AddressRange(text) == nil, "\(text)")
        }
    }
}
