import Dispatch
import ServiceRuntime
import Testing

@testable import Notification

@Suite struct InternetAddressTests {
    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.255.255", "172.32.0.1", "192.167.1.1",
        "198.17.255.255", "198.20.0.1", "223.255.255.255", "169.253.1.1", "192.0.1.1", "168.63.129.17",
        "2606:4700:4700::1111", "2a00:1450:4001:82a::200e", "2001:200::1", "2003::1", "64:ff9b::808:808",
    ])
    func publicAddressesAreAllowed(text: String) throws {
        #expect(try #require(InternetAddress(text)).refusal == nil)
    }

    @Test(arguments: [
        ("0.0.0.0", "unspecified"), ("10.0.0.1", "private"), ("100.64.0.1", "carrier-grade NAT"),
        ("100.100.100.200", "carrier-grade NAT"), ("100.127.255.255", "carrier-grade NAT"), ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"), ("169.254.169.254", "link-local"), ("172.16.0.1", "private"),
        ("172.31.255.255", "private"), ("192.0.0.192", "reserved"), ("192.0.2.1", "documentation"),
        ("192.168.1.1", "private"), ("198.18.0.1", "benchmarking"), ("198.19.255.255", "benchmarking"),
        ("198.51.100.7", "documentation"), ("203.0.113.9", "documentation"), ("224.0.0.1", "multicast"),
        ("239.255.255.255", "multicast"), ("240.0.0.1", "reserved"), ("255.255.255.255", "reserved"),
        ("168.63.129.16", "metadata"),
        ("::", "unspecified"), ("::1", "loopback"), ("::ffff:8.8.8.8", "IPv4-mapped"),
        ("::ffff:127.0.0.1", "IPv4-mapped"), ("::8.8.8.8", "reserved"), ("64:ff9b::a00:1", "private"),
        ("64:ff9b:1::1", "reserved"), ("fc00::1", "private"), ("fd00:ec2::254", "private"), ("fe80::1", "link-local"),
        ("fec0::1", "reserved"), ("ff02::1", "multicast"), ("2001::1", "reserved"), ("2001:db8::1", "documentation"),
        ("2002:7f00:1::", "6to4"), ("3fff::1", "documentation"), ("4000::1", "reserved"),
    ])
    func everythingElseIsRefused(text: String, reason: String) throws {
        #expect(try #require(InternetAddress(text)).refusal == reason)
    }

    @Test(arguments: ["localhost", "2130706433", "0x7f.1", "127.1", "1.2.3.4.5", "fe80::1%lo", "", "[::1]"])
    func namesAndOddSpellingsAreNoAddress(text: String) {
        #expect(InternetAddress(text) == nil)
    }

    @Test(arguments: ["8.8.8.8", "::1", "2606:4700:4700::1111"])
    func notationIsKept(text: String) throws {
        #expect(try #require(InternetAddress(text)).description == text)
    }

    @Test func resolverAgreesOnOddSpellingsOfLoopback() async throws {
        for host in ["localhost", "2130706433", "0x7f.1", "127.1"] {
            let addresses = try await AddressResolver().addresses(of: host, timeout: .seconds(10))
            #expect(addresses.allSatisfy { $0.refusal == "loopback" }, "\(host)")
        }
    }

    @Test func unknownHostIsAnError() async {
        await #expect(throws: AddressError.self) {
            _ = try await AddressResolver().addresses(of: "no-such-host.invalid", timeout: .seconds(10))
        }
    }
    @Test(.timeLimit(.minutes(1))) func hostHoldsOnePlaceUntilItsLookUpHasEnded() async throws {
        let addresses = [try #require(InternetAddress("8.8.8.8"))]
        let gate = DispatchSemaphore(value: 0)
        let resolver = AddressResolver { _ in
            gate.wait()
            gate.signal()
            return .success(addresses)
        }
        func failure(_ host: String) async -> AddressError? {
            await #expect(throws: AddressError.self) { _ = try await resolver.addresses(of: host, timeout: .zero) }
        }
        // Given up one after the other, and more often than there are places.
        for _ in 0...AddressResolver.lookUpsMaximum {
            #expect(await failure("1.example")?.description.contains("longer than") == true)
        }
        for number in 2...AddressResolver.lookUpsMaximum {
            #expect(await failure("\(number).example")?.description.contains("longer than") == true)
        }
        let late = await failure("late.example")
        #expect(late == AddressError("too many name look-ups are under way", isUnanswered: true))
        async let answer = resolver.addresses(of: "1.example", timeout: .seconds(60))
        gate.signal()
        let found = try await answer
        #expect(found == addresses)
    }
}
