import Foundation

/// Where the three listeners are.
struct ListenerAddresses: Codable, Sendable, Equatable {
    /// The file in the state folder that tells others.
    static let fileName = "addresses.json"

    /// The control API, such as `http://127.0.0.1:8099`.
    let control: String
    /// Apple's production host.
    let production: String
    /// Apple's sandbox host.
    let sandbox: String

    /// - Parameter host: a name or an address; `0.0.0.0` and `::` are told as `localhost`, which can be called.
    init(host: String, ports: ListenerPorts) {
        let name = ["0.0.0.0", "::"].contains(host) ? "localhost" : host.contains(":") ? "[\(host)]" : host
        control = "http://\(name):\(ports.control)"
        production = "http://\(name):\(ports.production)"
        sandbox = "http://\(name):\(ports.sandbox)"
    }

    /// Writes them into a folder: all or nothing, so that a reader who waits for the file can read it.
    func write(into folder: URL) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(self).write(to: folder.appendingPathComponent(Self.fileName), options: .atomic)
    }
}

/// The ports of the three listeners.
struct ListenerPorts: Sendable, Equatable {
    let control: Int
    let production: Int
    let sandbox: Int

    /// - Parameters:
    ///   - control: 0 for a free one.
    ///   - production: 0 for a free one; nil for the one after `control`, and for a free one when that was 0.
    ///   - sandbox: 0 for a free one; nil for the second after `control`, and for a free one when that was 0.
    /// - Throws: ``ListenerError`` when a port cannot be, two are the same, or no free one can be had.
    init(host: String, control: Int, production: Int? = nil, sandbox: Int? = nil) throws {
        let wanted = [
            control, production ?? (control == 0 ? 0 : control + 1), sandbox ?? (control == 0 ? 0 : control + 2),
        ]
        guard wanted.allSatisfy((0...65_535).contains) else {
            throw ListenerError(description: "ports: 0 to 65535, and there are three of them")
        }
        var free = try FreePort.find(wanted.count { $0 == 0 }, host: host)[...]
        let ports = wanted.map { $0 == 0 ? free.popFirst() ?? 0 : $0 }
        guard Set(ports).count == ports.count else {
            throw ListenerError(description: "ports: \(ports): each listener needs its own")
        }
        self.control = ports[0]
        self.production = ports[1]
        self.sandbox = ports[2]
    }
}

/// Why nobody can be listened to; `description` says what to do.
struct ListenerError: Error, CustomStringConvertible {
    let description: String
}
