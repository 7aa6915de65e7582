import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Postgres
import Testing

extension EndToEnd {
    /// What others do to intake, and what honest players see of it.
    @Suite("Floods")
    struct FloodTests {
        private enum Limit {
            static let purchases = 150
            /// At a rate that has them last longer than opening the idle connections.
            static let slowPurchases = 300
            /// Connections that post without a pause.
            static let flooders = 8
            static let idleConnections = 10_000
        }

        private static let game = "com.example.game"

        @Test("by one player, by nobody, and of idle connections: every purchase that comes meanwhile is granted")
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

                // The producer is started first: Foundation cannot start a process beside so many open files.
                async let idlePurchases: Void = Self.purchases(
                    "during idle connections", stack, count: Limit.slowPurchases, ["--rate", "25"])
                #expect(try await database.grantsMore(5))
                let idle = await IdleConnections.open(Limit.idleConnections, to: client.intake)
                print("idle connections that were opened: \(idle.opened), and still open: \(idle.open)")
                #expect(idle.opened > 0)
                try await idlePurchases
                await idle.close()
                try await Self.purchases("after", stack)
            }
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

/// Connections that say nothing, or begin a request and go on no further.
private struct IdleConnections {
    private static let connectingAtATime = 50

    private let channels: [any Channel]

    /// How many were opened.
    var opened: Int { channels.count }
    /// How many the server has not closed.
    var open: Int { channels.count(where: \.isActive) }

    static func open(_ count: Int, to address: String) async -> IdleConnections {
        guard let url = URL(string: address), let host = url.host(), let port = url.port else {
            return IdleConnections(channels: [])
        }
        let channels = await withTaskGroup(of: [any Channel].self) { group in
            let each = count / connectingAtATime
            for _ in 0..<connectingAtATime {
                group.addTask {
                    var channels: [any Channel] = []
                    for number in 0..<each {
                        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                        guard let channel = try? await bootstrap.connect(host: host, port: port).get() else { continue }
                        channels.append(channel)
                        let text =
                            switch number % 3 {
                            case 1: "POST /v1/purchases HTTP/1.1\r\nhost: localhost\r\n"
                            case 2: "POST /v1/purchases HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{"
                            default: ""
                            }
                        try? await channel.writeAndFlush(ByteBuffer(string: text))
                    }
                    return channels
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        return IdleConnections(channels: channels)
    }

    func close() async {
        for channel in channels { try? await channel.close() }
    }
}
