import CountersignClient
import Foundation
import Postgres
import StoreTesting
import Testing

extension EndToEnd {
    /// The client library as an app ships it: URLSession, the real time, a journal on the disk.
    @Suite("A purchase by URLSession")
    struct URLSessionPurchaseTests {
        @Test("it is granted and finished; a player with another's token is told to log in, and loses nothing")
        func purchase() async throws {
            try await withLifeStack { place, _, database in
                let record = LifeRecord()
                let account = "url-session-\(place.run)"
                let apple = FakeAppStore(
                    seller: SimulatorSeller(
                        client: place.client, record: record, app: LifeStack.app, appleID: "apple-id-of-\(account)",
                        isStoreKit1: false))
                let transport = URLSessionTransport()
                let queue = try await PurchaseQueue.open(
                    QueueConfiguration(server: place.intake, app: LifeStack.app, folder: place.folder),
                    store: FakeStore(apple), transport: transport, credentials: LifeLogIn(secret: place.secret))
                await queue.start()
                await queue.logIn(account)
                let result = try await queue.purchase("gems.100", for: account)
                guard case .settled(let report) = result else { throw StackFailure("\(result)") }
                #expect(report.outcome == .granted)
                await apple.waitForFinished(1)
                let granted = try await database.number(
                    "SELECT count(*) AS n FROM orders WHERE transaction_id = $1 AND account = $2 AND state = 'granted'",
                    [.text(report.transactionID), .text(account)])
                #expect(granted == 1)
                await queue.settle()
                await queue.stop()

                let stranger = try await PurchaseQueue.open(
                    QueueConfiguration(server: place.intake, app: LifeStack.app, folder: place.folder),
                    store: FakeStore(apple), transport: transport, credentials: LifeLogIn(secret: "another secret"))
                await stranger.start()
                await stranger.logIn(account)
                let error = await #expect(throws: PurchaseError.self) {
                    try await stranger.purchase("gems.100", for: account)
                }
                #expect(error?.code == .serverRefused)
                #expect(error?.detail.contains("authentication-failed") == true)
                await stranger.stop()
            }
        }

        @Test("what a player has follows the server's stream, and the stream ends with who reads it")
        func stream() async throws {
            try await withLifeStack { place, stack, _ in
                let account = "url-session-stream-\(place.run)"
                let metrics = try AdminPort(place.client, stack, "receipt-intake")
                let open = { try await metrics.metric("countersign_event_streams") ?? 0 }
                let before = try await open()
                let apple = FakeAppStore(
                    seller: SimulatorSeller(
                        client: place.client, record: LifeRecord(), app: LifeStack.app,
                        appleID: "apple-id-of-\(account)",
                        isStoreKit1: false))
                let queue = try await PurchaseQueue.open(
                    QueueConfiguration(server: place.intake, app: LifeStack.app, folder: place.folder),
                    store: FakeStore(apple), transport: URLSessionTransport(),
                    credentials: LifeLogIn(secret: place.secret))
                await queue.start()
                await queue.logIn(account)
                var told = await queue.account(account).makeAsyncIterator()
                #expect(await told.next()?.version == 0)
                #expect(try await open() == before + 1)
                _ = try await queue.purchase("gems.100", for: account)
                let bought = try #require(await told.next())
                #expect(bought.version >= 1 && bought.balances.values.contains { $0 > 0 } && !bought.isStale)
                await queue.stop()
                let deadline = ContinuousClock.now + .seconds(20)
                while try await open() > before, ContinuousClock.now < deadline {
                    // The connection's end reaches the server by itself, and it tells nobody.
                    try await Task.sleep(for: .milliseconds(100))
                }
                #expect(try await open() == before)
            }
        }

        @Test("an answer that is too long, and no answer, are errors; a cancelled request ends")
        func errors() async throws {
            try await withStack { stack, client, _ in
                let transport = URLSessionTransport()
                var request = ServerRequest(
                    method: "GET", url: try #require(URL(string: client.intake + "/openapi.json")), headers: [:],
                    body: nil, timeout: 10, answerMaximum: 1 << 20)
                let answer = try await transport.send(request)
                #expect(answer.status == 200)
                #expect(answer.headers["content-type"]?.hasPrefix("application/json") == true)
                request.answerMaximum = 100
                await #expect(throws: ServerAnswerError.tooLong(bytes: answer.body.count)) {
                    try await transport.send(request)
                }
                request.url = try #require(URL(string: "http://127.0.0.1:1/"))
                await #expect(throws: (any Error).self) { try await transport.send(request) }
                // Waits 20 s for an outcome that never comes, unless it is cancelled.
                let secret = try stack.setting("COUNTERSIGN_JWT_SECRET")
                let player = try PlayerToken.make(of: "url-session-waiting", secret: secret)
                let waiting = ServerRequest(
                    method: "POST", url: try #require(URL(string: client.intake + "/v1/purchases?wait=20")),
                    headers: ["authorization": "Bearer \(player)", "content-type": "application/json"],
                    body: Data(#"{"app":"com.example.game","transaction_id":"1"}"#.utf8), timeout: 30,
                    answerMaximum: 1 << 20)
                let start = ContinuousClock.now
                let task = Task { try await transport.send(waiting) }
                // Until it is under way, of which URLSession tells nobody; cancelled before that, it has to end, too.
                try await Task.sleep(for: .milliseconds(200))
                task.cancel()
                await #expect(throws: (any Error).self) { try await task.value }
                #expect(ContinuousClock.now - start < .seconds(10))
            }
        }
    }
}
