import Crypto
import Foundation
import NIOHTTP1
import Postgres
import Testing

extension EndToEnd {
    /// What others do to intake, and what honest players see of it.
    @Suite("Floods", .timeLimit(.minutes(10)))
    struct FloodTests {
        private enum Limit {
            static let purchases = 150
            /// At a rate that has them last longer than opening the slow connections.
            static let slowPurchases = 300
            /// Connections that post without a pause.
            static let flooders = 8
            static let idleConnections = 10_000
            static let slowConnections = 1_000
            /// What an app's backends may post a minute where nobody says otherwise, and how much of it at once.
            static let backendPosts = (perMinute: 6_000.0, atOnce: 100.0)
        }

        private static let game = "com.example.game"
        private static let wild = "com.example.wild"

        @Test(
            "by one player, one app, nobody, slow and idle connections: every purchase that comes meanwhile is granted")
        func floods() async throws {
            try await withStack { stack, client, database in
                try await Self.purchases("before", stack)
                let secret = try stack.setting("COUNTERSIGN_JWT_SECRET")
                let account = "flood-\(UUID().uuidString)"
                let token = try PlayerToken.make(of: account, secret: secret)

                let player = try await Self.during("a flood by one player", stack) { number in
                    try await Self.pester(number, token, client)
                }
                #expect(player[429, default: 0] > 0, "what is too much is put off")
                // Of 600 proofs a minute 60 at once, the others one by one; with 30 order ids.
                #expect(try await Self.rows(of: account, database) <= 700, "a minute's and a little more")

                let nobody = try await Self.during("a flood by nobody", stack) { _ in
                    try await client.send(
                        .POST, client.intake + "/v1/purchases",
                        headers: client.headers(playerToken: "csk_junk"), body: Self.large
                    ).status
                }
                #expect(Set(nobody.keys) == [401])

                try await Self.floodByApp(stack, client, database)

                // The producer is started first: Foundation cannot start a process beside so many open files.
                async let slowPurchases: Void = Self.purchases(
                    "during slow connections", stack, count: Limit.slowPurchases, ["--rate", "25"])
                #expect(try await database.grantsMore(5))
                let slow = await SlowConnections.open(Limit.slowConnections, to: client.intake, token: token)
                #expect(slow.opened > 0)
                try await slowPurchases
                print("slow connections that were opened: \(slow.opened), and still open: \(slow.open)")
                await slow.close()

                let open = try await IdleConnections.during(Limit.idleConnections, to: client.intake) { opened in
                    print("idle connections that were opened: \(opened)")
                    #expect(opened > 0)
                    try await Self.purchases("during idle connections", stack)
                }
                print("idle connections that were still open: \(open)")
                try await Self.purchases("after", stack)
            }
        }

        /// Another app's backend posts as fast as it goes: it gets its own app's turns, and no more.
        private static func floodByApp(_ stack: Stack, _ client: IntakeClient, _ database: Database) async throws {
            let apps = stack.configuration("apps.yaml")
            let before = try Data(contentsOf: apps)
            let key = "csk_\(UUID().uuidString)"
            let hash = SHA256.hash(data: Data(key.utf8)).map { String(format: "%02x", $0) }.joined()
            let entry = "  - { bundle_id: \(wild), authentication: { api_keys_sha256: [\"\(hash)\"] } }\n"
            try (before + Data(entry.utf8)).write(to: apps, options: .atomic)
            let seconds: Double
            let statuses: [Int: Int]
            let unsettled: Int64
            do {
                let account = "\(client.intake)/v1/accounts/nobody?app=\(wild)"
                while try await client.send(.GET, account, headers: client.headers(playerToken: key)).status != 200 {
                    // The file is looked at every two seconds, and nobody is called.
                    try await Task.sleep(for: .milliseconds(200))
                }
                let start = ContinuousClock.now
                statuses = try await during("a flood by one app", stack) { number in
                    let proof = Data("{\"n\":\(number)}".utf8).base64URL
                    let body = #"{"app":"\#(wild)","account":"a-\#(number)","signed_transaction":"\#(proof).e30.AAAA"}"#
                    return try await client.send(
                        .POST, client.intake + "/v1/purchases", headers: client.headers(playerToken: key),
                        body: Array(body.utf8)
                    ).status
                }
                seconds = (ContinuousClock.now - start) / .seconds(1)
                // What was posted for an app that is not configured any more would wait for it for ever.
                unsettled = try await database.wait(
                    for: 0, within: .seconds(60),
                    "SELECT count(*) AS n FROM submissions WHERE app = $1 AND due_at IS NOT NULL", [.text(wild)])
            } catch {
                try before.write(to: apps, options: .atomic)
                throw error
            }
            try before.write(to: apps, options: .atomic)
            #expect(unsettled == 0)
            let taken = Double(statuses[202, default: 0])
            #expect(taken > 0 && taken <= Limit.backendPosts.atOnce + seconds * Limit.backendPosts.perMinute / 60 + 1)
        }

        /// As much as a short body may have.
        private static let large = [UInt8](repeating: UInt8(ascii: " "), count: 256 << 10)

        /// What a player may post and read without anything to show for it, by turns.
        private static func pester(_ number: Int, _ token: String, _ client: IntakeClient) async throws -> Int {
            let headers = client.headers(playerToken: token)
            guard number % 3 != 2 else {
                return try await client.send(
                    .GET, "\(client.intake)/v1/orders/\(number)/why?app=\(game)", headers: headers
                ).status
            }
            let proof =
                number % 3 == 0
                // What Apple knows no order of is refused at once, and leaves nothing due for the tests that follow.
                ? #""order_id":"MX\#(number)""#
                : #""signed_transaction":"\#(Data("{\"n\":\(number)}".utf8).base64URL).e30.AAAA""#
            return try await client.send(
                .POST, client.intake + "/v1/purchases", headers: headers,
                body: Array(#"{"app":"\#(game)",\#(proof)}"#.utf8)
            ).status
        }

        /// Purchases beside something that is done again and again: the answers to that, by status.
        private static func during(
            _ name: String, _ stack: Stack, _ work: @escaping @Sendable (Int) async throws -> Int
        ) async throws -> [Int: Int] {
            let flood = Task {
                await withTaskGroup(of: [Int: Int].self) { group in
                    for flooder in 0..<Limit.flooders {
                        group.addTask {
                            var statuses: [Int: Int] = [:]
                            var number = flooder
                            while !Task.isCancelled {
                                if let status = try? await work(number) { statuses[status, default: 0] += 1 }
                                number += Limit.flooders
                            }
                            return statuses
                        }
                    }
                    return await group.reduce(into: [:]) { all, some in all.merge(some, uniquingKeysWith: +) }
                }
            }
            do {
                defer { flood.cancel() }
                try await purchases("during \(name)", stack)
            }
            let statuses = await flood.value
            print("\(name), by status: \(statuses)")
            return statuses
        }

        /// Honest players' purchases, all of which are granted; tells how long they took.
        private static func purchases(
            _ name: String, _ stack: Stack, count: Int = Limit.purchases, _ arguments: [String] = []
        ) async throws {
            let report = try await Load(stack).run(
                ["--count", "\(count)", "--concurrency", "8", "--wait", "20"] + arguments)
            let times = report.purchases.compactMap(\.outcomeMilliseconds).sorted()
            try #require(times.count == count, "\(name)")
            print("purchases \(name): p50 \(times[times.count / 2]) ms, p99 \(times[times.count * 99 / 100]) ms")
        }

        private static func rows(of account: String, _ database: Database) async throws -> Int64 {
            try await database.number("SELECT count(*) AS n FROM submissions WHERE account = $1", [.text(account)])
        }
    }
}
