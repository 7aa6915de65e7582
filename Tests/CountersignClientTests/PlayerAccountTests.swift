import Foundation
import StoreTesting
import Testing

@testable import CountersignClient

@Suite("What a player has", .timeLimit(.minutes(1)))
struct PlayerAccountTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "accounts-\(UUID().uuidString)")

    private func queue(
        _ server: AccountServer, time: ManualTime = ManualTime(), address: String = "https://p.example.com/shop"
    ) async throws -> PurchaseQueue {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try await PurchaseQueue.open(
            QueueConfiguration(
                server: try #require(URL(string: address)), app: "com.example.game", folder: folder,
                environment: .sandbox),
            store: FakeStore(FakeAppStore()), transport: server, credentials: FakeLogIn(["anna", "a/b ä"]), time: time,
            storage: { MemoryStorage() })
    }

    @Test(
        "what is kept comes at once and is stale, then what the server says, then each change, asked for by its version"
    )
    func follow() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = AccountServer([.account("anna", version: 7, gems: 70), .account("anna", version: 8, gems: 170)])
        let first = try await queue(server)
        #expect(await first.knownAccount("anna") == nil)
        var told = await first.account("anna").makeAsyncIterator()
        let now = try #require(await told.next())
        #expect(now.version == 7 && now.balances == ["gem": 70] && now.has("vip") && !now.has("old") && !now.isStale)
        await server.allow(1)
        #expect(await told.next()?.balances == ["gem": 170])
        await first.stop()
        #expect(
            await server.asked.prefix(2) == [
                "/shop/v1/accounts/anna?app=com.example.game&environment=sandbox",
                "/shop/v1/accounts/anna?app=com.example.game&environment=sandbox&at_least=8&wait=10",
            ])
        // Another launch, without a network.
        let second = try await queue(AccountServer([]))
        let kept = try #require(await second.knownAccount("anna"))
        #expect(kept.version == 8 && kept.isStale && kept.has("vip"))
        #expect(await second.knownAccount("ben") == nil)
        await second.forgetAccount("anna")
        #expect(await second.knownAccount("anna") == nil)
        await second.stop()
    }

    @Test("a server that cannot be reached makes it stale, once; then it is asked again for all there is")
    func away() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = AccountServer([
            .account("anna", version: 7, gems: 70), .unchanged, .away, .away, .account("anna", version: 7, gems: 70),
        ])
        let time = ManualTime()
        let queue = try await queue(server, time: time)
        var told = await queue.account("anna").makeAsyncIterator()
        #expect(await told.next()?.isStale == false)
        await server.allow(2)
        await time.waitForSleepers(1)
        time.advance(by: 1)
        #expect(await told.next()?.isStale == true)
        for _ in 0..<2 {
            await time.waitForSleepers(1)
            await server.allow(1)
            time.advance(by: 10)
        }
        #expect(await told.next()?.isStale == false)
        #expect(await server.asked.map { $0.contains("at_least") }.prefix(5) == [false, true, true, false, false])
        await queue.stop()
    }

    @Test("an account's name is encoded; an answer about another, or one that is none, is no answer")
    func names() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = AccountServer([.account("anna", version: 1, gems: 1), .account("a/b ä", version: 2, gems: 2)])
        let time = ManualTime()
        let queue = try await queue(server, time: time, address: "https://p.example.com")
        var told = await queue.account("a/b ä").makeAsyncIterator()
        await time.waitForSleepers(1)
        await server.allow(1)
        time.advance(by: 10)
        #expect(await told.next()?.version == 2)
        #expect(await server.asked.first?.hasPrefix("/v1/accounts/a%2Fb%20%C3%A4?") == true)
        await queue.stop()
    }

    @Test("a file that is no file of accounts is no account, and the number of accounts that are kept is bounded")
    func file() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = AccountFile(folder: folder)
        try Data("nothing".utf8).write(to: file.file)
        #expect(file.read().isEmpty)
        for number in 0..<30 { file.keep(Data([UInt8(number)]), of: "player-\(number)") }
        #expect(file.read().count == QueueLimits.accountsKeptMaximum)
        #expect(file.read()["player-29"] == Data([29]))
    }

    @Test("products come in the order that is asked for, and ids that the store refuses are told with likely causes")
    func products() async throws {
        let phone = FakePhone()
        let sold = [("a", 0.99), ("b", 10.49), ("c", 0.49)].map { id, price in
            StoreProduct(
                id: id, displayName: id, description: id, displayPrice: "\(price)", price: Decimal(price),
                kind: .consumable)
        }
        let log = FakeLog()
        let queue = try await PurchaseQueue.open(
            QueueConfiguration(
                server: try #require(URL(string: "https://p.example.com")), app: "com.example.game", folder: folder,
                log: { log.add($0) }),
            store: FakeStore(phone.apple, catalogue: sold), transport: phone.server, credentials: FakeLogIn([]),
            time: phone.time, storage: { MemoryStorage() })
        #expect(try await queue.products(["a", "b", "c"]).map(\.id) == ["c", "a", "b"])
        #expect(log.lines.isEmpty)
        let list = try await queue.productList(["a", "b", "c", "z", "y"], by: .priceDescending)
        #expect(list.products.map(\.id) == ["b", "a", "c"] && list.refusedIDs == ["y", "z"])
        let line = try #require(log.lines.first)
        #expect(line.level == .warning && line.message.contains("y, z") && line.message.contains("Paid Apps Agreement"))
        await queue.stop()
    }
}

/// Answers about accounts, one after the other; after the first each waits until it is allowed.
private actor AccountServer: ServerTransport {
    enum Answer {
        case account(String, version: Int, gems: Int)
        case unchanged
        case away
    }

    private var answers: [Answer]
    private var allowed = 1
    private var waiters: [CheckedContinuation<Void, Never>] = []
    private(set) var asked: [String] = []

    init(_ answers: [Answer]) { self.answers = answers }

    func allow(_ count: Int) {
        allowed += count
        for waiter in waiters { waiter.resume() }
        waiters = []
    }

    func send(_ request: ServerRequest) async throws -> ServerAnswer {
        let parts = try #require(URLComponents(url: request.url, resolvingAgainstBaseURL: false))
        asked.append("\(parts.percentEncodedPath)?\(parts.percentEncodedQuery ?? "")")
        while allowed == 0 { await withCheckedContinuation { waiters.append($0) } }
        allowed -= 1
        guard !answers.isEmpty else { throw URLError(.notConnectedToInternet) }
        switch answers.removeFirst() {
        case .away: throw URLError(.notConnectedToInternet)
        case .unchanged:
            return ServerAnswer(
                status: 409,
                body: Data(
                    #"{"type":"/problems/version-not-reached","code":"version-not-reached","title":"not yet"}"#.utf8))
        case .account(let name, let version, let gems):
            let body = """
                {"app":"com.example.game","environment":"sandbox","account":"\(name)","version":\(version),
                 "entitlements":[{"entitlement":"vip","transaction_id":"7","granted_at":"2026-11-01T10:00:00.500Z",
                  "expires_at":"2026-12-01T10:00:00.000Z","active":true},
                  {"entitlement":"old","transaction_id":"6","granted_at":"2026-11-01T10:00:00.500Z","active":false}],
                 "balances":[{"item":"gem","amount":\(gems)}],"subscriptions":[],"complete":true}
                """
            return ServerAnswer(status: 200, body: Data(body.utf8))
        }
    }
}
