import Foundation
package import NIOCore

/// Where a request comes from: an IPv4 address, or an IPv6 address.
package struct ClientAddress: Sendable, Hashable, CustomStringConvertible {
    /// As IPv6; an IPv4 address is `::ffff:0:0/96` and itself (RFC 4291, section 2.5.5.2).
    fileprivate let high: UInt64
    fileprivate let low: UInt64

    private static let mappedPrefix: UInt64 = 0xFFFF << 32

    private init(high: UInt64, low: UInt64) {
        (self.high, self.low) = (high, low)
    }

    private init(v4: UInt32) {
        self.init(high: 0, low: Self.mappedPrefix | UInt64(v4))
    }

    /// Reads the usual notation; nil for anything else, such as a name.
    package init?(_ text: some StringProtocol) {
        // A zone (RFC 4007) means something on one machine only.
        guard !text.contains("%"), let address = try? SocketAddress(ipAddress: String(text), port: 0) else {
            return nil
        }
        self.init(address)
    }

    /// The address of a peer; nil for a Unix socket.
    package init?(_ address: SocketAddress) {
        switch address {
        case .v4(let address):
            self.init(v4: UInt32(bigEndian: address.address.sin_addr.s_addr))
        case .v6(let address):
            let bytes = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
            self.init(high: Self.number(bytes[..<8]), low: Self.number(bytes[8...]))
        case .unixDomainSocket: return nil
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private var isIPv4: Bool { high == 0 && low >> 32 == Self.mappedPrefix >> 32 }

    /// What one customer of a provider has: an IPv4 address, or the /64 of an IPv6 address (RFC 6177).
    package var network: ClientAddress { isIPv4 ? self : ClientAddress(high: high, low: 0) }

    /// Whether it is the machine itself.
    package var isLoopback: Bool { AddressRange.loopback.contains { $0.contains(self) } }

    /// Whether it lies in no public network: the machine itself, a private network, a provider's own.
    package var isPrivate: Bool { AddressRange.privateRanges.contains { $0.contains(self) } }

    /// The usual notation.
    package var description: String {
        guard !isIPv4 else {
            return [24, 16, 8, 0].map { "\(UInt8(truncatingIfNeeded: low >> $0))" }.joined(separator: ".")
        }
        return [high, low].flatMap { half in
            [48, 32, 16, 0].map { String(UInt16(truncatingIfNeeded: half >> $0), radix: 16) }
        }.joined(separator: ":")
    }
}

/// The addresses that begin alike: `10.0.0.0/8`, `2001:db8::/32`, or one address.
package struct AddressRange: Sendable, Hashable {
    private let first: ClientAddress
    /// As IPv6: 96 more than of IPv4.
    private let bits: Int

    /// Reads CIDR notation; nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let first = ClientAddress(parts[0]) else { return nil }
        let width = parts[0].contains(":") ? 128 : 32
        var bits = width
        if parts.count == 2 {
            let digits = parts[1]
            guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits), number <= width
            else {
                return nil
            }
            bits = number
        }
        self.first = first
        self.bits = 128 - width + bits
    }

    /// Whether the address is one of them.
    package func contains(_ address: ClientAddress) -> Bool {
        func isSame(_ one: UInt64, _ other: UInt64, _ bits: Int) -> Bool {
            bits <= 0 || (one ^ other) >> (64 - min(64, bits)) == 0
        }
        return isSame(first.high, address.high, bits) && isSame(first.low, address.low, bits - 64)
    }

    /// The machine itself.
    package static let loopback = ["127.0.0.0/8", "::1"].compactMap { AddressRange($0) }

    /// Source: the special-purpose address registries of IANA (RFC 6890).
    static let privateRanges =
        loopback
        + [
            "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10", "fc00::/7", "fe80::/10",
        ].compactMap { AddressRange($0) }
}
