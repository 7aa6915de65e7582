import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// A story's receiver of server notifications: answers as it is told, and remembers what came.
actor StoryReceiver {
    enum Limit {
        /// Bytes of a notification: real ones have some ten thousand.
        static let bytes = 1 << 20
        /// Notifications that are remembered.
        static let received = 100_000
    }

    private var script: ReceiverScript
    /// Decoded payloads, with the status that they were answered with.
    private(set) var received: [JSONValue] = []

    init(_ script: ReceiverScript) {
        self.script = script
    }

    /// What it answers from now on.
    func follow(_ script: ReceiverScript) {
        self.script = script
    }

    /// The loopback address of the family that the simulator is called by: the other family may not be there.
    static func loopback(besides control: String) -> String {
        URL(string: control)?.host()?.contains(":") == true ? "::1" : "127.0.0.1"
    }

    /// Serves on a free port of a loopback address while the body runs with the URL.
    static func serving<Result: Sendable>(
        _ receiver: StoryReceiver, on address: String = "127.0.0.1",
        _ body: @Sendable @escaping (String) async throws -> Result
    ) async throws -> Result {
        let router = Router(context: BasicRequestContext.self)
        router.post("notifications") { request, _ in
            let body = try await request.body.collect(upTo: Limit.bytes)
            return Response(status: await receiver.take(Data(body.readableBytesView)))
        }
        var logger = Logger(label: "story-receiver")
        // Its end, in the middle of a kept connection, is no error.
        logger.logLevel = .critical
        let (ports, port) = AsyncStream<Int>.makeStream()
        let application = Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname(address, port: 0)),
            onServerRunning: { channel in
                port.yield(channel.localAddress?.port ?? 0)
                port.finish()
            }, logger: logger)
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask {
                try await application.run()
                port.finish()
                return nil
            }
            group.addTask {
                guard let number = await ports.first(where: { _ in true }) else {
                    throw ToolFailure("the story's receiver cannot listen")
                }
                let host = address.contains(":") ? "[\(address)]" : address
                return try await body("http://\(host):\(number)/notifications")
            }
            defer { group.cancelAll() }
            while let result = try await group.next() {
                if let result { return result }
            }
            throw ToolFailure("the story's receiver ended early")
        }
    }

    private func take(_ body: Data) -> HTTPResponse.Status {
        let status = script.answers.isEmpty ? script.always : script.answers.removeFirst()
        guard let signed = JSONValue(json: body)?["signedPayload"]?.text,
            let payload = SignedPayload.decode(signed)
        else { return .badRequest }
        if received.count < Limit.received {
            received.append(
                .map(["payload": payload, "status": .whole(Int64(status)), "signedPayload": .text(signed)]))
        }
        return HTTPResponse.Status(code: status)
    }
}
