import Foundation

/// The system gave no port.
package struct NoFreePort: Error {}

/// A TCP port of the loopback address that nobody uses now.
package func freePort() throws -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
            bind(descriptor, pointer, size) + getsockname(descriptor, pointer, &size)
        }
    }
    guard result == 0 else { throw NoFreePort() }
    return Int(address.sin_port.bigEndian)
}
