import Foundation
import StoreTesting
import Testing

@testable import CountersignClient

@Suite("Before the payment sheet, and around it", .timeLimit(.minutes(1)))
struct PurchaseReadinessTests {
    @Test("payments that are not allowed are an error before anything else happens")
    func forbidden() async throws {
        let phone = FakePhone()
        await phone.apple.misbehave(.forbidsPayments)
        let queue = try await phone.launch(as: "anna")
        let error = await #expect(throws: PurchaseError.self) { try await queue.purchase("gems.100") }
        #expect(error?.code == .paymentsNotAllowed)
        #expect(await phone.server.requestCount == 0)
        #expect(await phone.apple.sheetCount == 0)
    }

    @Test("an order that is none is an error before anything else happens")
    func invalid() async throws {
        let phone = FakePhone()
        let queue = try await phone.launch(as: "anna")
        let orders = [("", 1), (String(repeating: "p", count: 256), 1), ("gems.100", 0), ("gems.100", 11)]
        for (product, quantity) in orders {
            let error = await #expect(throws: PurchaseError.self) {
                try await queue.purchase(product, quantity: quantity)
            }
            #expect(error?.code == .orderInvalid)
        }
        #expect(await phone.server.requestCount == 0)
    }

    @Test("a queue that is not started, or was stopped, buys and restores nothing, and nobody waits for ever")
    func stopped() async throws {
        let phone = FakePhone()
        let early = try await phone.open()
        for queue in [early, try await phone.launch(as: "anna")] {
            await queue.stop()
            await queue.stop()
            let purchase = await #expect(throws: PurchaseError.self) { try await queue.purchase("gems.100") }
            #expect(purchase?.code == .stopped)
            let restore = await #expect(throws: PurchaseError.self) { try await queue.restore() }
            #expect(restore?.code == .stopped)
            await queue.logIn("anna")
            await queue.settle()
            for await _ in await queue.updates() { Issue.record("a stopped queue tells nothing") }
        }
    }

    @Test("stopped while a purchase waits for its outcome: it is processing, and the next launch goes on")
    func stoppedMeanwhile() async throws {
        let phone = FakePhone()
        let queue = try await phone.launch(as: "anna")
        await phone.server.set(.works)
        let slow = SlowPosts(phone.server)
        await queue.stop()
        let first = try await phone.open(transport: slow)
        await first.start()
        await first.logIn("anna")
        async let result = first.purchase("gems.100")
        await slow.waitForPost()
        await first.stop()
        guard case .processing = try await result else {
            Issue.record("\(try await result)")
            return
        }
        let next = try await phone.launch(as: "anna")
        await phone.apple.waitForFinished(1)
        await next.settle()
        #expect(await phone.server.grants.values.map { $0 } == [1])
    }

    @Test("products come by price")
    func products() async throws {
        func product(_ id: String, _ price: Decimal) -> StoreProduct {
            StoreProduct(
                id: id, displayName: id, description: "", displayPrice: "€\(price)", price: price, kind: .consumable)
        }
        let store = FakeStore(FakeAppStore(), catalogue: [product("b", 5), product("c", 1), product("a", 5)])
        let phone = FakePhone()
        let storage = phone.storage
        let queue = try await PurchaseQueue.open(
            QueueConfiguration(
                server: try #require(URL(string: "https://example.com")), app: "a", folder: URL(filePath: "/nowhere")),
            store: store, transport: phone.server, credentials: FakeLogIn([]), time: phone.time,
            storage: { storage })
        #expect(try await queue.products(["a", "b", "c", "d"]).map(\.id) == ["c", "a", "b"])
    }

    @Test("the log has neither tokens nor proofs, whatever goes wrong")
    func log() async throws {
        let phone = FakePhone()
        for mode in [FakeServer.Mode.status(500, retryAfter: nil), .unreachable, .status(422, retryAfter: nil), .works]
        {
            await phone.server.set(mode)
            await phone.apple.bring(try await PlainSeller(firstID: 7).sell(StoreOrder(productID: "gems.100")))
            let queue = try await phone.launch(as: "anna")
            _ = try? await queue.purchase("gems.100")
            await queue.settle()
            await queue.stop()
        }
        #expect(phone.log.lines.count > 5)
        for line in phone.log.lines {
            #expect(!line.message.contains("token-of-"), "\(line.message)")
            #expect(!line.message.contains("e30."), "\(line.message)")
        }
    }

    @Test("each reader of updates has all of them; beyond the limit a reader gets none")
    func readers() async throws {
        let phone = FakePhone()
        let queue = try await phone.launch(as: "anna")
        var streams: [AsyncStream<PurchaseUpdate>] = []
        for _ in 0..<QueueLimits.updateReadersMaximum { streams.append(await queue.updates()) }
        for await _ in await queue.updates() { Issue.record("a reader too many") }
        await phone.apple.bring(try await PlainSeller(firstID: 7).sell(StoreOrder(productID: "gems.100")))
        await phone.apple.waitForFinished(1)
        await queue.stop()
        for stream in streams {
            #expect(await stream.reports().map(\.outcome) == [.granted])
        }
    }
}

/// Answers intents, and lets every purchase wait until the request is cancelled.
private actor SlowPosts: ServerTransport {
    private let server: FakeServer
    private var isPosted = false
    private var watchers: [CheckedContinuation<Void, Never>] = []

    init(_ server: FakeServer) {
        self.server = server
    }

    func waitForPost() async {
        guard !isPosted else { return }
        await withCheckedContinuation { watchers.append($0) }
    }

    func send(_ request: ServerRequest) async throws -> ServerAnswer {
        guard request.url.path.contains("purchases") else { return try await server.send(request) }
        isPosted = true
        for watcher in watchers { watcher.resume() }
        watchers = []
        // As long as nobody cancels it: this is the server that does not answer.
        try await Task.sleep(for: .seconds(3_600))
        throw FakeStoreError.failed
    }
}
