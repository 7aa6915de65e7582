import StoreTesting
import Testing

@testable import CountersignClient

@Suite("The server in trouble", .timeLimit(.minutes(1)))
struct ServerTroubleTests {
    @Test("5xx for a day: one request now and then, and everything is granted afterwards")
    func aDay() async throws {
        let phone = FakePhone()
        await phone.server.set(.status(503, retryAfter: nil))
        let queue = try await phone.launch(as: "anna")
        let updates = await queue.updates()
        for number in 0..<20 {
            await phone.apple.bring(
                try await PlainSeller(firstID: 100 + number).sell(StoreOrder(productID: "gems.100")))
        }
        await queue.lookAgain()
        while phone.time.now < 86_400 {
            let count = await phone.server.requestCount
            await phone.time.waitForSleepers(1)
            // No pause is longer than a quarter of an hour.
            phone.time.advance(by: 900)
            await phone.server.waitForRequests(count + 1)
            await queue.settle()
        }
        #expect(await phone.server.requestCount < 150)
        #expect(await phone.apple.finished.isEmpty)
        #expect(await queue.pending().count == 20)
        await phone.server.set(.works)
        await phone.time.waitForSleepers(1)
        phone.time.advance(by: 900)
        await phone.apple.waitForFinished(20)
        await queue.settle()
        #expect(await phone.server.grants.count == 20)
        await queue.stop()
        var kinds: [PurchaseUpdate] = []
        for await update in updates {
            switch update {
            case .report, .paid: continue
            default: break
            }
            kinds.append(update)
        }
        #expect(kinds == [.serverUnavailable, .serverAvailable])
    }

    @Test("an answer that is lost: the same post again, and it is granted once")
    func answerLost() async throws {
        let phone = FakePhone()
        let queue = try await phone.launch(as: "anna")
        await phone.apple.misbehave(.asksForApproval)
        #expect(try await queue.purchase("gems.100") == .pending)
        await phone.server.set(.losesAnswers)
        await phone.apple.misbehave([])
        try await phone.apple.approve()
        await queue.lookAgain()
        #expect(await phone.server.grants.values.map { $0 } == [1])
        #expect(await phone.apple.finished.isEmpty)
        await phone.server.set(.works)
        await queue.networkIsReachable()
        await phone.apple.waitForFinished(1)
        #expect(await phone.server.grants.values.map { $0 } == [1])
        let posts = await phone.server.posts
        // The look may have met the first post, and had it tried once more at once.
        #expect(posts.count == 2 || posts.count == 3)
        #expect(posts.allSatisfy { $0 == posts.first })
    }

    @Test("Retry-After is kept: no hint and no chance makes it shorter")
    func retryAfter() async throws {
        let phone = FakePhone()
        await phone.server.set(.status(429, retryAfter: 120))
        await phone.apple.bring(try await PlainSeller(firstID: 7).sell(StoreOrder(productID: "gems.100")))
        let queue = try await phone.launch(as: "anna")
        await phone.server.waitForRequests(1)
        await queue.settle()
        await phone.server.set(.works)
        await phone.time.waitForSleepers(1)
        await queue.networkIsReachable()
        await queue.enterForeground()
        phone.time.advance(by: 119)
        await queue.settle()
        #expect(await phone.server.requestCount == 1)
        phone.time.advance(by: 3)
        await phone.apple.waitForFinished(1)
    }

    @Test("the network is there again: what waits goes on at once")
    func reachable() async throws {
        let phone = FakePhone()
        await phone.server.set(.unreachable)
        await phone.apple.bring(try await PlainSeller(firstID: 7).sell(StoreOrder(productID: "gems.100")))
        let queue = try await phone.launch(as: "anna")
        await phone.server.waitForRequests(1)
        await queue.settle()
        await phone.server.set(.works)
        await queue.networkIsReachable()
        await phone.apple.waitForFinished(1)
        #expect(phone.time.now == 0)
    }

    @Test("received: it is asked about by its id, and not posted again")
    func received() async throws {
        let phone = FakePhone()
        await phone.server.set(.isSlow)
        await phone.apple.bring(try await PlainSeller(firstID: 7).sell(StoreOrder(productID: "gems.100")))
        let queue = try await phone.launch(as: "anna")
        for count in 1...5 {
            await phone.server.waitForRequests(count)
            await queue.settle()
            await phone.time.waitForSleepers(1)
            phone.time.advance(by: 900)
        }
        await phone.server.waitForRequests(6)
        await queue.settle()
        #expect(await phone.server.posts.count == 1)
        #expect(await phone.apple.finished.isEmpty)
        await phone.server.set(.works)
        await phone.time.waitForSleepers(1)
        phone.time.advance(by: 900)
        await phone.apple.waitForFinished(1)
        #expect(await phone.server.posts.count == 1)
    }

    @Test("a purchase that the server always fails at stops no other")
    func poison() async throws {
        let phone = FakePhone()
        let apple = phone.apple
        let poisoned = PoisonedServer(phone.server, poison: "100")
        let queue = try await phone.open(transport: poisoned)
        await queue.start()
        for number in 0..<10 {
            await apple.bring(try await PlainSeller(firstID: 100 + number).sell(StoreOrder(productID: "gems.100")))
        }
        await queue.logIn("anna")
        for count in 1...9 where await apple.finished.count < count {
            if await queue.pending().count > 1 {
                await phone.time.waitForSleepers(1)
                phone.time.advance(by: 1)
            }
            await apple.waitForFinished(count)
        }
        await queue.settle()
        #expect(await queue.pending().map(\.transactionID) == ["100"])
        #expect(await apple.unfinishedIDs == ["100"])
    }

    @Test("a forged or damaged proof is refused, not finished, and asked about seldom")
    func refused() async throws {
        let phone = FakePhone()
        await phone.server.refuse("7")
        await phone.apple.bring(try await PlainSeller(firstID: 7).sell(StoreOrder(productID: "gems.100")))
        let queue = try await phone.launch(as: "anna")
        await phone.server.waitForRequests(1)
        await queue.settle()
        #expect(await queue.pending().map(\.outcome) == [.refused(reason: "signature_invalid")])
        #expect(await phone.apple.finished.isEmpty)
        await phone.time.waitForSleepers(1)
        phone.time.advance(by: 449)
        await queue.settle()
        #expect(await phone.server.requestCount == 1)
        phone.time.advance(by: 452)
        await phone.server.waitForRequests(2)
        await queue.settle()
        #expect(await phone.apple.finished.isEmpty)
    }
}

/// A server that always fails at one transaction.
struct PoisonedServer: ServerTransport {
    private let server: FakeServer
    private let poison: String

    init(_ server: FakeServer, poison: String) {
        self.server = server
        self.poison = poison
    }

    func send(_ request: ServerRequest) async throws -> ServerAnswer {
        let body = request.body.map { String(decoding: $0, as: UTF8.self) } ?? ""
        return body.contains("e30.\(poison).AA") ? ServerAnswer(status: 500) : try await server.send(request)
    }
}
