import Foundation
import NIOCore
import NIOPosix

/// Connections that say nothing, or begin a request and go on no further: `Tests/Load/idle_connections.py`.
enum IdleConnections {
    /// Keeps so many open while a body runs.
    ///
    /// - Returns: how many the server had not closed by then.
    static func during(
        _ count: Int, to address: String, _ body: (_ opened: Int) async throws -> Void
    ) async throws -> Int {
        let output = try await BesideProcess.run(
            "idle_connections.py", try BesideProcess.place(of: address) + ["\(count)"], begins: true
        ) { begun in
            try await body(try number(after: "opened ", in: begun))
        }
        return try number(after: "open ", in: output)
    }

    private static func number(after word: String, in text: String) throws -> Int {
        let line = text.split(separator: "\n").first { $0.hasPrefix(word) }
        guard let line, let number = Int(line.dropFirst(word.count)) else {
            throw StackFailure("idle_connections.py said: \(text)")
        }
        return number
    }
}

/// Connections that send a request byte by byte, some of them its head, the others the body of a player's (slow-loris).
struct SlowConnections {
    private enum Limit {
        static let connectingAtATime = 50
        static let pause = TimeAmount.milliseconds(200)
        /// The length of the body that is promised.
        static let body = 4_000
    }

    private let channels: [any Channel]

    /// How many were opened.
    var opened: Int { channels.count }
    /// How many the server has not closed.
    var open: Int { channels.count(where: \.isActive) }

    /// - Parameter token: a player's, who may post.
    static func open(_ count: Int, to address: String, token: String) async -> SlowConnections {
        guard let url = URL(string: address), let host = url.host(), let port = url.port else {
            return SlowConnections(channels: [])
        }
        let channels = await withTaskGroup(of: [any Channel].self) { group in
            for _ in 0..<Limit.connectingAtATime {
                group.addTask {
                    var channels: [any Channel] = []
                    for number in 0..<count / Limit.connectingAtATime {
                        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                        guard let channel = try? await bootstrap.connect(host: host, port: port).get() else { continue }
                        channels.append(channel)
                        try? await channel.writeAndFlush(ByteBuffer(string: beginning(number, token)))
                    }
                    return channels
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        for channel in channels {
            channel.eventLoop.scheduleRepeatedTask(initialDelay: Limit.pause, delay: Limit.pause) { task in
                guard channel.isActive else { return task.cancel() }
                channel.writeAndFlush(ByteBuffer(string: "a"), promise: nil)
            }
        }
        return SlowConnections(channels: channels)
    }

    private static func beginning(_ number: Int, _ token: String) -> String {
        number.isMultiple(of: 2)
            ? "POST /v1/purchases HTTP/1.1\r\nhost: localhost\r\nx-slow: "
            : "POST /v1/purchases HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer \(token)\r\n"
                + "content-type: application/json\r\ncontent-length: \(Limit.body)\r\n\r\n{\""
    }

    func close() async {
        for channel in channels { try? await channel.close() }
    }
}
