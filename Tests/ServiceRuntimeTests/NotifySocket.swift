import Foundation
import Testing

@testable import ServiceRuntime

/// systemd's end of `$NOTIFY_SOCKET`.
final class NotifySocket: Sendable {
    /// As systemd writes it.
    let name: String
    private let descriptor: Int32

    init(isAbstract: Bool) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "notify-\(UUID().uuidString)").path
        name = isAbstract ? "@countersign-\(UUID().uuidString)" : path
        let bound = try #require(UnixDatagramAddress(name))
        let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let socket = socket(AF_UNIX, kind, 0)
        descriptor = socket
        try #require(bound.withSocketAddress { bind(socket, $0, $1) } == 0)
    }

    deinit {
        close(descriptor)
        if name.hasPrefix("/") { unlink(name) }
    }

    /// The oldest message that was not read yet; nil when there is none.
    func receive() -> String? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count >= 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
    }

    /// The next message; nil when the test's time is over.
    func next() async -> String? {
        while !Task.isCancelled {
            if let message = receive() { return message }
            // A datagram socket has no signal to wait for here, but that it can be read.
            try? await Task.sleep(for: .milliseconds(2))
        }
        return nil
    }
}
