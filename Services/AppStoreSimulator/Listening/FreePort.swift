import NIOCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Finds TCP ports that nobody listens on.
///
/// Addresses must be known before anything is served: certificates name the control listener's. So a port is tried, and
/// let go; until it is listened on, which is moments later, another process could take it. Then the start fails and says
/// so. The ports tried are below those that systems give to outgoing connections, and a process gets none twice, so that
/// only another listener could be in the way.
enum FreePort {
    enum Limit {
        /// Where a free port is looked for: Linux gives outgoing connections ports from 32768 on
        /// (`net.ipv4.ip_local_port_range`), others from 49152 on (RFC 6335).
        static let ports = 20_000..<32_000
        /// How many are tried for one.
        static let tries = 1_000
    }

    /// What this process was given already.
    private static let given = Mutex<Set<Int>>([])

    /// So many ports of a host's address, all different.
    static func find(_ count: Int, host: String) throws -> [Int] {
        guard count > 0 else { return [] }
        let address: SocketAddress
        do {
            address = try SocketAddress.makeAddressResolvingHost(host, port: 0)
        } catch {
            throw ListenerError(description: "host: \(host) is no address of this machine")
        }
        return try (0..<count).map { _ in try findOne(at: address) }
    }

    private static func findOne(at address: SocketAddress) throws -> Int {
        var failure: CInt = 0
        for _ in 0..<Limit.tries {
            let port = Int.random(in: Limit.ports)
            guard given.withLock({ $0.insert(port).inserted }) else { continue }
            failure = tryToBind(address, port: port)
            if failure == 0 { return port }
        }
        throw ListenerError(description: "no free port: the last that was tried failed with errno \(failure)")
    }

    /// Binds a port of an address and lets it go; the error number, 0 when it was free.
    private static func tryToBind(_ address: SocketAddress, port: Int) -> CInt {
        var address = address
        address.port = port
        let family = if case .v6 = address { AF_INET6 } else { AF_INET }
        let socket = socket(family, SocketKind.stream, 0)
        guard socket >= 0 else { return errno }
        defer { _ = close(socket) }
        return address.withSockAddr { bind(socket, $0, socklen_t($1)) } == 0 ? 0 : errno
    }
}

/// What C calls `SOCK_STREAM`, which Glibc imports as an enumeration and others as a number.
private enum SocketKind {
    #if canImport(Glibc)
        static let stream = CInt(SOCK_STREAM.rawValue)
    #else
        static let stream = CInt(SOCK_STREAM)
    #endif
}
