import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Testing

@testable import AppStoreSimulator

/// Three listeners in a folder of their own, with a small store behind them that always answers the same.
struct ListenerStage: Sendable {
    /// What a request to `inApps/v1/history/…` is answered with.
    static let answer = #"{"revision":"7","hasMore":false,"signedTransactions":["a.b.c","d.e.f"]}"#

    let addresses: ListenerAddresses
    let ports: ListenerPorts
    let folder: URL
    let book: FaultBook
    /// Yields whenever one of Apple's two hosts begins to handle a request.
    let handled: AsyncStream<String>
    /// Yields whenever one of Apple's two hosts has done with a request, answered or not.
    let done: AsyncStream<String>
    private let group: ServiceGroup

    /// Lets everything stop as it does on SIGTERM.
    func stop() async {
        await group.triggerGracefulShutdown()
    }

    /// Runs them for a test and stops them afterwards; returns when they have ended.
    static func run<Value: Sendable>(
        services: [any Service] = [],
        _ body: @escaping @Sendable (ListenerStage) async throws -> Value
    ) async throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("listeners-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let book = FaultBook()
        let (handled, handles) = AsyncStream.makeStream(of: String.self)
        let (done, does) = AsyncStream.makeStream(of: String.self)
        let (listening, listens) = AsyncStream.makeStream(of: Void.self)
        let ports = try ListenerPorts(host: "127.0.0.1", control: 0)
        let logger = Logger(label: "listeners") { _ in SwiftLogNoOpLogHandler() }
        let listeners = Listeners(
            host: "127.0.0.1", ports: ports,
            routers: .init(
                control: control(book), production: host(.production, book, handles, does),
                sandbox: host(.sandbox, book, handles, does)),
            folder: folder, logger: logger,
            onListening: { listens.finish() })
        let group = ServiceGroup(services: services + [listeners], logger: logger)
        let stage = ListenerStage(
            addresses: listeners.addresses, ports: ports, folder: folder, book: book, handled: handled, done: done,
            group: group)
        return try await withThrowingTaskGroup(of: Value?.self) { tasks in
            tasks.addTask {
                defer { listens.finish() }
                try await group.run()
                return nil
            }
            tasks.addTask {
                for await _ in listening {}
                do {
                    let value = try await body(stage)
                    await stage.stop()
                    return value
                } catch {
                    await stage.stop()
                    throw error
                }
            }
            var result: Value?
            for try await value in tasks { result = value ?? result }
            return try #require(result)
        }
    }

    private static func control(_ book: FaultBook) -> Router<BasicRequestContext> {
        let router = Router(context: BasicRequestContext.self)
        router.add(middleware: ProblemMiddleware())
        router.get("readyz") { _, _ in "ready\n" }
        FaultRoutes(book: book).addRoutes(to: router.group("simulator/v1"))
        return router
    }

    private static func host(
        _ environment: StoreEnvironment, _ book: FaultBook, _ handles: AsyncStream<String>.Continuation,
        _ does: AsyncStream<String>.Continuation
    ) -> Router<BasicRequestContext> {
        let router = Router(context: BasicRequestContext.self)
        router.add(middleware: DoneMiddleware(does: does))
        router.add(middleware: FaultMiddleware(book: book, environment: environment))
        router.get("inApps/v1/history/:id") { request, _ in
            handles.yield(request.uri.path)
            return ControlAnswer.json(answer)
        }
        // Answers with what it was sent.
        router.post("verifyReceipt") { request, _ in
            handles.yield(request.uri.path)
            let body = try await request.body.collect(upTo: .max)
            return Response(status: .ok, body: .init(byteBuffer: body))
        }
        return router
    }
}

/// Tells when everything behind it has done with a request.
private struct DoneMiddleware<Context: RequestContext>: RouterMiddleware {
    let does: AsyncStream<String>.Continuation

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        defer { does.yield(request.uri.path) }
        return try await next(request, context)
    }
}

/// What a client without any HTTP sees on its socket.
struct RawConnection: Sendable {
    enum End: Sendable, Equatable {
        /// An orderly end.
        case closed
        /// A TCP reset.
        case reset
    }

    /// Thrown by a client that hangs up.
    struct GivingUp: Error {}

    /// Everything that came, and how it ended.
    struct Exchange: Sendable {
        let text: String
        let end: End

        /// What stands behind the header fields.
        var body: String { text.components(separatedBy: "\r\n\r\n").dropFirst().joined(separator: "\r\n\r\n") }
    }

    /// Sends a text and reads until the other side ends the connection.
    ///
    /// - Parameter afterwards: called when the text has been sent.
    static func exchange(
        port: Int, sending text: String, afterwards: @escaping @Sendable () async throws -> Void = {}
    ) async throws -> Exchange {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: text))
            try await afterwards()
            var received = ""
            do {
                for try await part in inbound { received += String(buffer: part) }
                return Exchange(text: received, end: .closed)
            } catch let error as IOError where error.errnoCode == ECONNRESET {
                return Exchange(text: received, end: .reset)
            }
        }
    }

    static func get(_ path: String, port: Int) async throws -> Exchange {
        try await exchange(
            port: port, sending: "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    }
}
