import Foundation
import StoreTesting
import Testing

@testable import CountersignClient

@Suite("What a player has, by the server's stream", .timeLimit(.minutes(1)))
struct AccountStreamTests {
    private func follow(_ server: StreamServer, _ time: ManualTime) async throws -> PurchaseQueue {
        let folder = FileManager.default.temporaryDirectory.appending(path: "stream-\(UUID().uuidString)")
        return try await PurchaseQueue.open(
            QueueConfiguration(
                server: try #require(URL(string: "https://p.example.com")), app: "com.example.game", folder: folder),
            store: FakeStore(FakeAppStore()), transport: server, credentials: FakeLogIn(["anna"]), time: time,
            storage: { MemoryStorage() })
    }

    @Test("each event of the stream has the account asked for, once; what is not newer asks for nothing")
    func events() async throws {
        let server = StreamServer()
        let queue = try await follow(server, ManualTime())
        var told = await queue.account("anna").makeAsyncIterator()
        #expect(await told.next()?.version == 1)
        await server.say("retry: 2000", "", ": nothing", "id: 1", "data: no JSON", event(1), "")
        await server.change()
        await server.say("id: 2", event(2), "")
        #expect(await told.next()?.version == 2)
        await queue.stop()
        #expect(await server.asked == ["events", "now", "at_least=2"])
        #expect(await server.streamHeaders == ["accept": "text/event-stream", "authorization": "Bearer token-of-anna"])
    }

    @Test("a stream that ended is opened again after a pause that grows, and what was missed comes first")
    func reconnects() async throws {
        let server = StreamServer()
        let time = ManualTime()
        let queue = try await follow(server, time)
        var told = await queue.account("anna").makeAsyncIterator()
        #expect(await told.next()?.version == 1)
        for round in 1...3 {
            await server.change()
            await server.hangUp()
            await time.waitForSleepers(1)
            #expect(await server.asked.count == 2 * round)
            // At most 1, 2 and 4 seconds; half of each is chance.
            time.advance(by: Double(1 << (round - 1)) * 0.49)
            #expect(await server.asked.count == 2 * round)
            time.advance(by: Double(1 << (round - 1)))
            #expect(await told.next()?.version == Int64(round + 1))
        }
        await queue.stop()
    }

    @Test("where there is no stream, it is asked again and again, and a stream is tried later")
    func polls() async throws {
        let server = StreamServer()
        await server.refuseStreams(503)
        let queue = try await follow(server, ManualTime())
        var told = await queue.account("anna").makeAsyncIterator()
        #expect(await told.next()?.version == 1)
        for version in 2...70 {
            await server.change()
            #expect(await told.next()?.version == Int64(version))
        }
        await queue.stop()
        let asked = await server.asked
        #expect(asked.prefix(3) == ["events", "now", "at_least=2"])
        #expect(asked.count { $0 == "events" } == 2)
    }

    @Test("a server that answers at once and has nothing new is asked once a second")
    func hasty() async throws {
        let server = StreamServer()
        await server.refuseStreams(429)
        await server.answerAtOnce()
        let time = ManualTime()
        let queue = try await follow(server, time)
        var told = await queue.account("anna").makeAsyncIterator()
        #expect(await told.next()?.version == 1)
        for round in 1...5 {
            await time.waitForSleepers(1)
            #expect(await server.asked.count == 2 + round)
            time.advance(by: 1)
        }
        await queue.stop()
    }

    @Test("a refused token is asked for anew, once")
    func token() async throws {
        let server = StreamServer()
        await server.refuseStreams(401)
        let queue = try await follow(server, ManualTime())
        var told = await queue.account("anna").makeAsyncIterator()
        #expect(await told.next()?.version == 1)
        await queue.stop()
        #expect(await server.asked.prefix(3) == ["events", "events", "now"])
    }

    @Test("nobody who reads: the stream is closed, and nothing is asked any more")
    func ends() async throws {
        let server = StreamServer()
        let queue = try await follow(server, ManualTime())
        let reading = Task {
            for await _ in await queue.account("anna") { await server.read() }
        }
        await server.waitForReads(1)
        reading.cancel()
        await reading.value
        await server.waitForClosed()
        #expect(await server.asked == ["events", "now"])
        await queue.stop()
    }

    private func event(_ sequence: Int) -> String {
        #"data: {"id":"evt","customer":{"id":"anna","sequence":\#(sequence)},"data":{}}"#
    }
}

/// A server with an account that changes, and a stream of its events.
private actor StreamServer: ServerTransport {
    private var version = 1
    private var refusal: Int?
    private var isHasty = false
    private var stream: AsyncThrowingStream<String, any Error>.Continuation?
    private var reads = 0
    private var isClosed = false
    private var waiters: [CheckedContinuation<Void, Never>] = []
    private(set) var asked: [String] = []
    private(set) var streamHeaders: [String: String] = [:]

    func refuseStreams(_ status: Int) { refusal = status }

    func answerAtOnce() { isHasty = true }

    func say(_ lines: String...) { for line in lines { stream?.yield(line) } }

    func hangUp() { stream?.finish() }

    func change() {
        version += 1
        wake()
    }

    func read() {
        reads += 1
        wake()
    }

    func waitForReads(_ count: Int) async { while reads < count { await changed() } }

    func waitForClosed() async { while !isClosed { await changed() } }

    private func close() {
        isClosed = true
        wake()
    }

    private func changed() async { await withCheckedContinuation { waiters.append($0) } }

    private func wake() {
        for waiter in waiters { waiter.resume() }
        waiters = []
    }

    func lines(_ request: ServerRequest) async throws -> AsyncThrowingStream<String, any Error>? {
        #expect(request.url.path == "/v1/accounts/anna/events")
        asked.append("events")
        streamHeaders = request.headers
        if let refusal { throw ServerAnswerError.refused(status: refusal) }
        let (lines, continuation) = AsyncThrowingStream<String, any Error>.makeStream()
        continuation.onTermination = { [weak self] _ in Task { [weak self] in await self?.close() } }
        stream = continuation
        return lines
    }

    func send(_ request: ServerRequest) async throws -> ServerAnswer {
        let items = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
        let least = items.first { $0.name == "at_least" }?.value
        asked.append(least.map { "at_least=\($0)" } ?? "now")
        while let least, version < Int(least) ?? 0, !isHasty, !Task.isCancelled {
            await changed()
        }
        return ServerAnswer(
            status: 200,
            body: Data(#"{"account":"anna","version":\#(version),"balances":[],"entitlements":[]}"#.utf8))
    }
}
