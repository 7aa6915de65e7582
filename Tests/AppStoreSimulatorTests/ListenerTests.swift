import AsyncHTTPClient
import Foundation
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import Testing

@testable import AppStoreSimulator

@Suite("Listeners", .timeLimit(.minutes(2)))
struct ListenerTests {
    @Test("all three can be called once addresses.json is there, and it names them")
    func addresses() async throws {
        try await ListenerStage.run { stage in
            let file = stage.folder.appendingPathComponent("addresses.json")
            let told = try JSONDecoder().decode(ListenerAddresses.self, from: Data(contentsOf: file))
            #expect(told == stage.addresses)
            #expect(told.control == "http://127.0.0.1:\(stage.ports.control)")
            #expect(try await ListenerClient.get("\(told.control)/readyz").body == "ready\n")
            for host in [told.production, told.sandbox] {
                #expect(try await ListenerClient.get("\(host)/inApps/v1/history/1").body == ListenerStage.answer)
            }
        }
    }

    @Test("ports: given ones are taken, the defaults follow the control port, 0 is a free one of its own")
    func ports() throws {
        let given = try ListenerPorts(host: "127.0.0.1", control: 8_000, production: 9_000)
        #expect((given.control, given.production, given.sandbox) == (8_000, 9_000, 8_002))
        let free = try ListenerPorts(host: "127.0.0.1", control: 0)
        #expect(Set([free.control, free.production, free.sandbox, 0]).count == 4)
        #expect(try ListenerPorts(host: "127.0.0.1", control: 8_000, sandbox: 0).sandbox > 0)
        for (control, production) in [(65_535, nil), (8_000, 8_000), (-1, nil), (8_000, 70_000)] as [(Int, Int?)] {
            #expect(throws: ListenerError.self) {
                try ListenerPorts(host: "127.0.0.1", control: control, production: production)
            }
        }
        #expect(throws: ListenerError.self) { try FreePort.find(1, host: "no.such.host.invalid") }
        #expect(ListenerAddresses(host: "::1", ports: given).control == "http://[::1]:8000")
        #expect(ListenerAddresses(host: "0.0.0.0", ports: given).control == "http://localhost:8000")
    }

    @Test("a port that somebody else has is named when the start fails")
    func takenPort() async throws {
        try await ListenerStage.run { stage in
            let routers = Listeners.Routers(control: .init(), production: .init(), sandbox: .init())
            let second = Listeners(
                host: "127.0.0.1", ports: stage.ports, routers: routers, folder: stage.folder,
                logger: .init(label: "second"))
            let error = await #expect(throws: ListenerError.self) { try await second.run(with: [], stoppedBy: []) }
            #expect(error?.description.contains("cannot listen on") == true)
        }
    }

    @Test("a request whose body never ends does not hold up a stop")
    func stopsInSpiteOfSlowClients() async throws {
        try await ListenerStage.run { stage in
            let exchange = try await RawConnection.exchange(
                port: stage.ports.production,
                sending: "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf"
            ) {
                var handled = stage.handled.makeAsyncIterator()
                _ = await handled.next()
                await stage.stop()
            }
            #expect(!exchange.text.contains("200 OK"))
        }
    }

    @Test("other services run beside the listeners and are stopped with them")
    func services() async throws {
        let (stopped, stops) = AsyncStream.makeStream(of: Void.self)
        try await ListenerStage.run(services: [UntilStopped(stops: stops)]) { stage in
            let answer = try await ListenerClient.get("\(stage.addresses.control)/readyz")
            #expect(answer.body == "ready\n")
        }
        var iterator = stopped.makeAsyncIterator()
        #expect(await iterator.next() != nil)
    }

    @Test("a body that is said to be larger than the limit is refused, and one that is larger ends with 413")
    func bodyLimit() async throws {
        try await ListenerStage.run { stage in
            let limit = ConnectionServer.Limit.bodyBytes
            let said = try await RawConnection.exchange(
                port: stage.ports.sandbox,
                sending:
                    "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: \(limit + 1)\r\n\r\n"
            )
            #expect(said.text.hasPrefix("HTTP/1.1 413"))
            let piece = String(repeating: "x", count: 1 << 20)
            let pieces = (0..<5).map { _ in "100000\r\n\(piece)\r\n" }.joined()
            let sent = try await RawConnection.exchange(
                port: stage.ports.sandbox,
                sending:
                    "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + pieces + "0\r\n\r\n")
            #expect(sent.text.hasPrefix("HTTP/1.1 413"))
        }
    }
}

/// A service that only waits to be stopped.
private struct UntilStopped: Service {
    let stops: AsyncStream<Void>.Continuation

    func run() async throws {
        try? await gracefulShutdown()
        stops.yield()
    }
}
