import NIOCore
import NIOPosix
import Testing

@testable import ReceiptIntake

@Suite("A client that hangs up", .timeLimit(.minutes(1)))
struct ConnectionSignalsTests {
    @Test("is seen to have by who asks later, too; where no connection is announced, none is seen to end")
    func later() async throws {
        let signals = ConnectionSignals()
        let (accepted, accept) = AsyncStream<any Channel>.makeStream()
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(signals.makeHandler())
                    accept.yield(channel)
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let client = try await RawClient.connect(port: try #require(server.localAddress?.port))
        var channels = accepted.makeAsyncIterator()
        let first = await channels.next()
        let channel = try #require(first)
        let calls = Mutexed(0)
        let connection = signals.connection(of: channel)
        connection.onClose { calls.withLock { $0 += 1 } }
        connection.forget()
        try await client.reset()
        try await channel.closeFuture.get()
        #expect(calls.withLock { $0 } == 0)
        connection.onClose { calls.withLock { $0 += 1 } }
        #expect(calls.withLock { $0 } == 1)
        connection.forget()
        ConnectionSignals().connection(of: channel).onClose { calls.withLock { $0 += 1 } }
        #expect(calls.withLock { $0 } == 1)
        try await server.close()
    }
}
