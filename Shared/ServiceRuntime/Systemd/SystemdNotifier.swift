import Foundation

/// Tells systemd how this process stands, as sd_notify(3) describes it: datagrams to the socket `$NOTIFY_SOCKET`.
///
/// systemd's library is not needed for that, and a send never waits: a message that finds the socket full is not sent.
struct SystemdNotifier: Sendable {
    /// What can be told.
    enum Message: Sendable, Hashable {
        /// `READY=1`: the start is complete.
        case ready
        /// `STOPPING=1`: a stop has begun.
        case stopping
        /// `WATCHDOG=1`: the process lives.
        case watchdog
        /// `STATUS=…`: a line for whoever asks `systemctl status`.
        case status(String)

        /// The line of the datagram.
        var line: String {
            switch self {
            case .ready: "READY=1"
            case .stopping: "STOPPING=1"
            case .watchdog: "WATCHDOG=1"
            case .status(let text): "STATUS=\(Self.oneLine(text))"
            }
        }

        /// A line feed would begin another assignment.
        private static func oneLine(_ text: String) -> String {
            let printable = String(text.map { $0.isNewline || $0.asciiValue.map { $0 < 0x20 } == true ? " " : $0 })
            guard printable.utf8.count > SystemdNotifier.statusBytesMaximum else { return printable }
            return String(decoding: printable.utf8.prefix(SystemdNotifier.statusBytesMaximum), as: UTF8.self) + "…"
        }
    }

    /// The most bytes of a status: what a person reads in a line or two, and far below the 4,096 that systemd takes.
    static let statusBytesMaximum = 500

    /// The interval within which systemd wants a ``Message/watchdog``; nil when it wants none.
    let watchdogInterval: Duration?
    private let address: UnixDatagramAddress

    /// Finds the socket in the environment.
    ///
    /// - Parameters:
    ///   - environment: Has `NOTIFY_SOCKET`, and `WATCHDOG_USEC` with `WATCHDOG_PID` where `WatchdogSec=` is set.
    ///   - processId: The watchdog is for this process only when `WATCHDOG_PID` is it, or is not set.
    /// - Returns: nil where there is no such socket, or one of another kind than a Unix socket.
    init?(environment: [String: String], processId: Int32 = getpid()) {
        guard let name = environment["NOTIFY_SOCKET"], let address = UnixDatagramAddress(name) else { return nil }
        self.address = address
        let isOurs = environment["WATCHDOG_PID"].map { $0 == "\(processId)" } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap(Int64.init) ?? 0
        watchdogInterval = isOurs && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Sends messages as one datagram, and says whether the socket took it.
    @discardableResult func send(_ messages: [Message]) -> Bool {
        address.send(Array(messages.map(\.line).joined(separator: "\n").utf8))
    }
}

/// The address of a Unix datagram socket, as systemd writes it: a path, or `@` and a name without a file.
struct UnixDatagramAddress: Sendable {
    private let bytes: [UInt8]

    /// Reads an address; nil for one that is no Unix socket's, or is too long for one.
    init?(_ name: String) {
        guard name.hasPrefix("/") || name.hasPrefix("@"), name.utf8.count > 1 else { return nil }
        // An abstract name begins with a zero byte, a path ends with one.
        let bytes = name.hasPrefix("@") ? [0] + Array(name.utf8.dropFirst()) : Array(name.utf8) + [0]
        guard bytes.count <= MemoryLayout.size(ofValue: sockaddr_un().sun_path) else { return nil }
        self.bytes = bytes
    }

    /// Sends one datagram without waiting, and says whether it was taken.
    func send(_ datagram: [UInt8]) -> Bool {
        let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let count = withSocketAddress { address, length in
            sendto(descriptor, datagram, datagram.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT), address, length)
        }
        return count == datagram.count
    }

    /// Lends the address in C's form; do not keep the pointer.
    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2) + socklen_t(bytes.count)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}
