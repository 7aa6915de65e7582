import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import ServerTesting
import ServiceRuntime
import Synchronization
import Testing
import WebhookSigning

@testable import Notification

/// The guard against requests into the own network.
@Suite(.timeLimit(.minutes(1)))
struct EndpointClientsTests {
    private func endpoint(_ url: String) throws -> WebhookEndpoint {
        try WebhookEndpoint(
            .init(id: "e", url: url, secrets: [Redacted(WebhookSecret.generate().reveal())]), path: "test")
    }

    private func address(_ text: String) throws -> InternetAddress {
        try #require(InternetAddress(text))
    }

    @Test(arguments: ["https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/", "https://localhost/"])
    func privateHostsAreRefused(url: String) async throws {
        let clients = EndpointClients(connectionsMaximum: 1)
        await #expect(throws: AddressError.self) { _ = try await clients.lease(for: try endpoint(url)) }
        await clients.close()
    }

    /// What somebody enters who wants the service to look into its own network: refused as it is read, or before anything is sent.
    @Test(arguments: [
        // Private, link-local, loopback, metadata.
        "https://10.0.0.1/", "https://172.16.0.1/", "https://172.31.255.254/", "https://192.168.0.1/",
        "https://0.0.0.0/",
        "https://127.0.0.1:8443/", "https://127.8.8.8/", "https://100.64.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://169.254.170.2/v2/credentials", "https://168.63.129.16/", "https://100.100.100.200/",
        "https://192.0.0.192/",
        "https://224.0.0.1/", "https://255.255.255.255/", "https://localhost/", "https://localhost./",
        // Other spellings of them.
        "https://2130706433/", "https://2852039166/", "https://0x7f000001/", "https://0x7f.0.0.1/", "https://0X7F.1/",
        "https://017700000001/", "https://0177.0.0.1/", "https://0251.0376.0251.0376/", "https://127.1/",
        "https://127.0.1/",
        "https://0/", "https://127.0.0.1./", "https://10.1/", "https://3232235777/",
        // IPv6: loopback, unspecified, link-local, unique local, what has an IPv4 address in it.
        "https://[::1]/", "https://[::]/", "https://[0:0:0:0:0:0:0:1]/", "https://[fe80::1]/",
        "https://[fe80::1%25lo]/",
        "https://[fc00::1]/", "https://[fd00:ec2::254]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/",
        "https://[::ffff:169.254.169.254]/", "https://[::ffff:a9fe:a9fe]/", "https://[::127.0.0.1]/",
        "https://[64:ff9b::7f00:1]/", "https://[64:ff9b::a9fe:a9fe]/", "https://[64:ff9b:1::1]/",
        "https://[2002:7f00:1::]/",
        "https://[2001:0:7f00:1::]/", "https://[ff02::1]/",
        // Somebody else's host before the @, after the backslash, in other letters.
        "https://8.8.8.8@127.0.0.1/", "https://user@8.8.8.8/", "https://user:password@8.8.8.8/",
        "https://8.8.8.8#@127.0.0.1/", "https://127.0.0.1\\@8.8.8.8/", "https://①②⑦.⓪.⓪.①/", "https://127。0。0。1/",
        "https://127.0.0.1%00.example.com/", "https://%31%32%37.0.0.1/", "https://127.0.0.1\n.example.com/",
        "https:// 127.0.0.1/",
        // No HTTPS, and nothing of the web.
        "http://8.8.8.8/", "http://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1:5432/_x", "ftp://8.8.8.8/",
        "//127.0.0.1/", "https:///hooks", "javascript:alert(1)", "unix:///run/postgresql",
    ])
    func hostileAddressesAreRefused(url: String) async throws {
        let hostile: WebhookEndpoint
        do { hostile = try endpoint(url) } catch {
            #expect(error is SettingsFileError)
            #expect(!"\(error)".contains(url), "it is not repeated")
            return
        }
        let clients = EndpointClients(connectionsMaximum: 1)
        await #expect(throws: AddressError.self) { _ = try await clients.lease(for: hostile) }
        await clients.close()
    }

    @Test func nameThatIsPrivateTheNextTimeIsRefusedThen() async throws {
        let answers = Mutex([[try address("8.8.8.8")], [try address("127.0.0.1")], [try address("::ffff:10.0.0.1")]])
        let clients = EndpointClients(connectionsMaximum: 1) { _ in
            answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        }
        let endpoint = try endpoint("https://rebinding.example.com/")
        let first = try await clients.lease(for: endpoint)
        #expect(first.address == (try address("8.8.8.8")))
        // No answer: the name is looked up again.
        clients.giveBack(first, broken: true)
        for _ in 1...2 {
            await #expect(throws: AddressError.self) { _ = try await clients.lease(for: endpoint) }
        }
        await clients.close()
    }

    @Test func oneForbiddenAddressAmongManyIsEnough() async throws {
        let addresses = [try address("8.8.8.8"), try address("10.0.0.1")]
        let clients = EndpointClients(connectionsMaximum: 1) { _ in addresses }
        await #expect(throws: AddressError.self) {
            _ = try await clients.lease(for: try endpoint("https://hooks.example.com/"))
        }
        await clients.close()
    }

    @Test func clientIsKeptWhileItsAddressHolds() async throws {
        let addresses = [try address("8.8.8.8"), try address("9.9.9.9")]
        let clients = EndpointClients(connectionsMaximum: 1) { _ in addresses }
        let endpoint = try endpoint("https://hooks.example.com/")
        let first = try await clients.lease(for: endpoint)
        clients.giveBack(first, broken: false)
        let second = try await clients.lease(for: endpoint)
        #expect(first.client === second.client)
        #expect(second.address == addresses[0])
        // No answer: another of the host's addresses is tried.
        clients.giveBack(second, broken: true)
        let third = try await clients.lease(for: endpoint)
        #expect(third.client !== second.client)
        #expect(third.address == addresses[1])
        clients.giveBack(third, broken: false)
        await clients.close()
    }

    @Test func everyAddressOfAHostIsTriedBeforeOneThatFailed() async throws {
        let (a, b, c) = (try address("8.8.8.8"), try address("9.9.9.9"), try address("1.1.1.1"))
        let answer = Mutex([a, b, c])
        let clients = EndpointClients(connectionsMaximum: 1) { _ in answer.withLock { $0 } }
        let endpoint = try endpoint("https://hooks.example.com/")
        func attempt(broken: Bool) async throws -> InternetAddress? {
            let lease = try await clients.lease(for: endpoint)
            clients.giveBack(lease, broken: broken)
            return lease.address
        }
        for expected in [a, b, c, a, b] { #expect(try await attempt(broken: true) == expected) }
        // It answers by now, and is kept: the others have failed.
        #expect(try await attempt(broken: false) == c)
        #expect(try await attempt(broken: true) == c)
        // All have failed, a longest ago; that is forgotten once the host has it no longer.
        answer.withLock { $0 = [b, c] }
        #expect(try await attempt(broken: true) == b)
        answer.withLock { $0 = [c, b, a] }
        #expect(try await attempt(broken: false) == a)
        await clients.close()
    }

    @Test func checkedAddressServesForAnHourWhileNoLookUpIsAnswered() async throws {
        let start = ContinuousClock.now
        let passed = Mutex(Duration.zero)
        let answer = Mutex(Result<[InternetAddress], AddressError>.success([try address("8.8.8.8")]))
        let clients = EndpointClients(connectionsMaximum: 1, now: { start + passed.withLock { $0 } }) { _ in
            try answer.withLock { $0 }.get()
        }
        let endpoint = try endpoint("https://hooks.example.com/")
        let first = try await clients.lease(for: endpoint)
        clients.giveBack(first, broken: false)
        answer.withLock { $0 = .failure(AddressError("too many", isUnanswered: true)) }
        // Looked up again since the address is old, and then since the endpoint gave no answer.
        for minutes in [2, 59] {
            passed.withLock { $0 = .seconds(minutes * 60) }
            let next = try await clients.lease(for: endpoint)
            #expect(next.client === first.client)
            clients.giveBack(next, broken: true)
        }
        answer.withLock { $0 = .failure(AddressError("no such host")) }
        await #expect(throws: AddressError.self) { _ = try await clients.lease(for: endpoint) }
        passed.withLock { $0 = EndpointClients.unansweredMaximum }
        answer.withLock { $0 = .failure(AddressError("too many", isUnanswered: true)) }
        await #expect(throws: AddressError.self) { _ = try await clients.lease(for: endpoint) }
        await clients.close()
    }

    @Test func connectionsGoToTheCheckedAddressUnderTheOwnName() async throws {
        let loopback = try address("127.0.0.1")
        try await WebhookReceiver.with { receiver, port in
            let client = HTTPClient(
                eventLoopGroupProvider: .singleton,
                configuration: EndpointClients.configuration(
                    host: "hooks.example.test", address: loopback, connectionsMaximum: 1))
            let response = try await client.execute(
                HTTPClientRequest(url: "http://hooks.example.test:\(port)/x"), timeout: .seconds(10))
            #expect(response.status.code == 200)
            #expect(receiver.requests.first?.header("host") == "hooks.example.test:\(port)")
            try await client.shutdown()
        }
    }

    @Test func connectionThatLeadsElsewhereIsClosedBeforeTheRequest() async throws {
        let elsewhere = try address("8.8.8.8")
        try await WebhookReceiver.with { receiver, port in
            let client = HTTPClient(
                eventLoopGroupProvider: .singleton,
                configuration: EndpointClients.configuration(
                    host: "another.example.test", address: elsewhere, connectionsMaximum: 1))
            await #expect(throws: AddressError.self) {
                _ = try await client.execute(
                    HTTPClientRequest(url: "http://127.0.0.1:\(port)/x"), timeout: .seconds(10))
            }
            #expect(receiver.requests.isEmpty)
            try await client.shutdown()
        }
    }
}
