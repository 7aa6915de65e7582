import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import ServiceRuntime
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
