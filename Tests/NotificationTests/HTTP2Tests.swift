import AsyncHTTPClient
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import ServiceLifecycle
import ServiceRuntime
import SwiftASN1
import Testing
import X509

@testable import Notification

/// Endpoints that speak HTTP/2: a real server with TLS on loopback, under a certificate of the test's own.
@Suite(.timeLimit(.minutes(1)))
struct HTTP2Tests {
    private static let host = "hooks.example.test"

    private struct Identity {
        let certificate: NIOSSLCertificate
        let key: NIOSSLPrivateKey

        init() throws {
            let key = P256.Signing.PrivateKey()
            let name = try DistinguishedName { CommonName(HTTP2Tests.host) }
            let certificate = try Certificate(
                version: .v3, serialNumber: .init(), publicKey: .init(key.publicKey),
                notValidBefore: Date(timeIntervalSinceNow: -3_600), notValidAfter: Date(timeIntervalSinceNow: 3_600),
                issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
                extensions: try Certificate.Extensions {
                    SubjectAlternativeNames([.dnsName(HTTP2Tests.host)])
                    BasicConstraints.isCertificateAuthority(maxPathLength: nil)
                }, issuerPrivateKey: .init(key))
            self.certificate = try NIOSSLCertificate(
                bytes: Array(try certificate.serializeAsPEM().pemString.utf8), format: .pem)
            self.key = try NIOSSLPrivateKey(bytes: Array(key.pemRepresentation.utf8), format: .pem)
        }
    }

    /// Runs a server that answers with what it was sent, and hands over its port.
    private func withServer(_ identity: Identity, _ body: @escaping @Sendable (Int) async throws -> Void) async throws {
        let router = Router()
        router.post("/hooks") { request, _ in
            let body = try await request.body.collect(upTo: 1 << 16)
            return Response(status: .accepted, body: .init(byteBuffer: body))
        }
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(identity.certificate)], privateKey: .privateKey(identity.key))
        let application = Application(
            router: router, server: try .http2Upgrade(tlsConfiguration: tls),
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in port.yield(channel.localAddress?.port ?? 0) },
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        let group = ServiceGroup(services: [application], logger: application.logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            for await port in ports {
                try await body(port)
                break
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    private func configuration(_ address: InternetAddress, _ identity: Identity) -> HTTPClient.Configuration {
        var configuration = EndpointClients.configuration(host: Self.host, address: address, connectionsMaximum: 4)
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates([identity.certificate])
        configuration.tlsConfiguration = tls
        return configuration
    }

    @Test func endpointThatOffersHTTP2IsSpokenToInIt() async throws {
        let identity = try Identity()
        let loopback = try #require(InternetAddress("127.0.0.1"))
        try await withServer(identity) { port in
            let client = HTTPClient(
                eventLoopGroupProvider: .singleton, configuration: configuration(loopback, identity))
            // Many at a time on one connection, each with a deadline of its own for the whole answer.
            try await withThrowingTaskGroup(of: AnswerReader.Response.self) { tasks in
                for number in 1...20 {
                    tasks.addTask {
                        let reader = AnswerReader(bytesMaximum: 100)
                        let exchange = client.execute(
                            request: try HTTPClient.Request(
                                url: "https://\(Self.host):\(port)/hooks", method: .POST,
                                body: .string("event \(number)")),
                            delegate: reader, deadline: .now() + .seconds(10))
                        return try await reader.whatWasRead(of: exchange)
                    }
                }
                var bodies: Set<String> = []
                for try await answer in tasks {
                    #expect(answer.head.version == .http2)
                    #expect(answer.head.status == .accepted)
                    bodies.insert(String(decoding: answer.body, as: UTF8.self))
                }
                #expect(bodies == Set((1...20).map { "event \($0)" }))
            }
            try await client.shutdown()
        }
    }

    @Test func connectionThatLeadsElsewhereIsRefusedInHTTP2Too() async throws {
        let identity = try Identity()
        let elsewhere = try #require(InternetAddress("8.8.8.8"))
        try await withServer(identity) { port in
            var configuration = configuration(elsewhere, identity)
            // As if the guard of names had been passed over: the address of the connection is compared all the same.
            configuration.dnsOverride = [Self.host: "127.0.0.1"]
            let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
            await #expect(throws: AddressError.self) {
                _ = try await client.execute(
                    HTTPClientRequest(url: "https://\(Self.host):\(port)/hooks"), timeout: .seconds(10))
            }
            try await client.shutdown()
        }
    }
}
