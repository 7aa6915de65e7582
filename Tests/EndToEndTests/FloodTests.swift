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
            /// Enough that the 99th percentile is not a single purchase's.
            static let purchases = 400
            /// A second: players buy when they want to, and not when the one before them has been served.
            static let rate = 50
            static let warmUp = 5_000
            static let idleConnections = 10_000
            static let slowConnections = 1_000
            /// What an app's backends may post a minute where nobody says otherwise, and how much of it at once.
            static let backendPosts = (perMinute: 6_000.0, atOnce: 25.0)
        }

        private static let game = "com.example.game"
        private static let wild = "com.example.wild"

        @Test(
            "by one player, one app, nobody, slow and idle connections: every purchase that comes meanwhile is granted")
        func floods() async throws {
            try await withStack { stack, client, database in
                try await Self.warmUp(stack)
                try await Self.purchases("before", stack)
                let secret = try stack.setting("COUNTERSIGN_JWT_SECRET")
                let account = "flood-\(UUID().uuidString)"
                let token = try PlayerToken.make(of: account, secret: secret)

                let player = try await Self.during("a flood by one player", stack, Self.pestering(token))
                #expect(player[429, default: 0] > 0, "what is too much is put off")
                // Of 600 proofs a minute 10 at once, the others one by one; of these 30 order ids.
                #expect(try await Self.rows(of: account, database) <= 700, "a minute's and a little more")

                let nobody = try await Self.during(
                    "a flood by nobody", stack,
                    [.init(method: "POST", path: "/v1/purchases", token: "csk_junk", body: Self.large)])
                #expect(Set(nobody.keys).subtracting([0]) == [401])

                try await Self.floodByApp(stack, client, database)

                let slow = try await HostileConnections.during(
                    Limit.slowConnections, to: client.intake, token: token
                ) { opened in
                    print("slow connections that were opened: \(opened)")
                    #expect(opened > 0)
                    try await Self.purchases("during slow connections", stack)
                }
                print("slow connections that were still open: \(slow)")

                let open = try await HostileConnections.during(Limit.idleConnections, to: client.intake) { opened in
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
                let junk = #"{"app":"\#(wild)","account":"a-{n}","signed_transaction":"{proof}.e30.AAAA"}"#
                statuses = try await during(
                    "a flood by one app", stack, [.init(method: "POST", path: "/v1/purchases", token: key, body: junk)])
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
        private static let large = String(repeating: " ", count: 256 << 10)

        /// What a player may post and read without anything to show for it.
        private static func pestering(_ token: String) -> [Flood.Request] {
            // What can be no id of Apple's is refused at once, and leaves nothing due for the tests that follow.
            let proofs = [#""transaction_id":"MX{n}""#, #""signed_transaction":"{proof}.e30.AAAA""#]
            return proofs.map {
                .init(method: "POST", path: "/v1/purchases", token: token, body: #"{"app":"\#(game)",\#($0)}"#)
            }
                + [.init(method: "GET", path: "/v1/orders/{n}/why?app=\(game)", token: token)]
        }

        /// Purchases beside a flood: the answers to that, by status.
        private static func during(
            _ name: String, _ stack: Stack, _ requests: [Flood.Request]
        ) async throws -> [Int: Int] {
            let statuses = try await Flood.during(requests, to: try stack.setting("COUNTERSIGN_RECEIPT_INTAKE_URL")) {
                try await purchases("during \(name)", stack)
            }
            print("\(name), by status: \(statuses)")
            return statuses
        }

        /// The first of everything is slower: the broker compiles while it works, connections to Apple are opened, statements
        /// are planned.
        private static func warmUp(_ stack: Stack) async throws {
            let token = try PlayerToken.make(
                of: "warm-\(UUID().uuidString)", secret: try stack.setting("COUNTERSIGN_JWT_SECRET"))
            let intake = try stack.setting("COUNTERSIGN_RECEIPT_INTAKE_URL")
            _ = try await Flood.during(pestering(token), to: intake) {
                _ = try await Load(stack).run(["--count", "\(Limit.warmUp)", "--concurrency", "32", "--wait", "20"])
            }
        }

        /// Honest players' purchases, all of which are granted; tells how long they took.
        private static func purchases(_ name: String, _ stack: Stack) async throws {
            let report = try await Load(stack).run(
                ["--count", "\(Limit.purchases)", "--rate", "\(Limit.rate)", "--concurrency", "64", "--wait", "20"])
            let times = report.purchases.compactMap(\.outcomeMilliseconds).sorted()
            try #require(times.count == Limit.purchases, "\(name)")
            let p99 = times[times.count * 99 / 100]
            print("purchases \(name): p50 \(times[times.count / 2]) ms, p99 \(p99) ms")
            let slow = report.purchases.enumerated().compactMap { number, purchase in
                purchase.outcomeMilliseconds.flatMap { time in
                    time < p99 ? nil : "\(Int(time)) ms after \(Double(number) / Double(Limit.rate)) s"
                }
            }
            print("the slowest of them: \(slow.joined(separator: ", "))")
        }

        private static func rows(of account: String, _ database: Database) async throws -> Int64 {
            try await database.number("SELECT count(*) AS n FROM submissions WHERE account = $1", [.text(account)])
        }
    }
}
