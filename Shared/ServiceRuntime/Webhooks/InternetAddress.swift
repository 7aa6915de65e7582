import Foundation

/// An IPv4 or IPv6 address, and whether it lies in the public internet.
package struct InternetAddress: Sendable, Hashable, CustomStringConvertible {
    /// 4 or 16 bytes, in network order.
    package let bytes: [UInt8]

    /// Keeps the bytes; nil unless there are 4 or 16.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Reads the usual notation; nil for anything else, such as a name or the number `2130706433`.
    package init?(_ text: String) {
        var buffer = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &buffer) == 1 {
            bytes = Array(buffer[..<4])
        } else if inet_pton(AF_INET6, text, &buffer) == 1 {
            bytes = buffer
        } else {
            return nil
        }
    }

    /// The usual notation.
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Why a webhook must not go there; nil for an address of the public internet.
    ///
    /// Source: the special-purpose address registries of IANA (RFC 6890 and its updates).
    package var refusal: String? {
        bytes.count == 4 ? Self.refusalOfIPv4(bytes) : Self.refusalOfIPv6(bytes)
    }

    private struct Block: Sendable {
        let prefix: [UInt8]
        let bits: Int
        let name: String

        init(_ prefix: [UInt8], _ bits: Int, _ name: String) {
            self.prefix = prefix
            self.bits = bits
            self.name = name
        }

        func contains(_ bytes: [UInt8]) -> Bool {
            for index in 0..<(bits + 7) / 8 {
                let kept = min(8, bits - index * 8)
                let mask = UInt8(truncatingIfNeeded: 0xFF00 >> kept)
                let expected = index < prefix.count ? prefix[index] : 0
                guard bytes[index] & mask == expected & mask else { return false }
            }
            return true
        }
    }

    private static let blocksOfIPv4 = [
        Block([0], 8, "unspecified"), Block([10], 8, "private"), Block([100, 64], 10, "carrier-grade NAT"),
        Block([127], 8, "loopback"), Block([169, 254], 16, "link-local"), Block([172, 16], 12, "private"),
        Block([192, 0, 0], 24, "reserved"), Block([192, 0, 2], 24, "documentation"),
        Block([192, 88, 99], 24, "reserved"), Block([192, 168], 16, "private"), Block([198, 18], 15, "benchmarking"),
        Block([198, 51, 100], 24, "documentation"), Block([203, 0, 113], 24, "documentation"),
        Block([224], 4, "multicast"), Block([240], 4, "reserved"),
        // A public address that, inside Azure, is the host's own metadata and agent service.
        Block([168, 63, 129, 16], 32, "metadata"),
    ]

    /// Within 2000::/3, the only part of IPv6 that is globally routed.
    private static let blocksOfIPv6 = [
        Block([0x20, 0x01, 0x00], 23, "reserved"), Block([0x20, 0x01, 0x0D, 0xB8], 32, "documentation"),
        Block([0x20, 0x02], 16, "6to4"), Block([0x3F, 0xFF], 20, "documentation"),
    ]
    private static let globalUnicast = Block([0x20], 3, "global unicast")
    private static let mappedIPv4 = Block([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96, "IPv4-mapped")
    private static let translatedIPv4 = Block([0x00, 0x64, 0xFF, 0x9B], 96, "NAT64")
    private static let namedOfIPv6 = [
        Block([], 128, "unspecified"), Block([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 128, "loopback"),
        mappedIPv4, Block([0xFC], 7, "private"), Block([0xFE, 0x80], 10, "link-local"), Block([0xFF], 8, "multicast"),
    ]

    private static func refusalOfIPv4(_ bytes: [UInt8]) -> String? {
        blocksOfIPv4.first { $0.contains(bytes) }?.name
    }

    private static func refusalOfIPv6(_ bytes: [UInt8]) -> String? {
        if let block = namedOfIPv6.first(where: { $0.contains(bytes) }) { return block.name }
        // In a network that speaks only IPv6, a public IPv4 host has such an address; judge the host.
        if translatedIPv4.contains(bytes) { return refusalOfIPv4(Array(bytes[12...])) }
        guard globalUnicast.contains(bytes) else { return "reserved" }
        return blocksOfIPv6.first { $0.contains(bytes) }?.name
    }
}
