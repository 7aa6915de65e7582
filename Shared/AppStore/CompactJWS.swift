import Foundation

/// A JWS in its compact form (RFC 7515, section 7.1), split but not decoded: positions in the bytes it came in.
package struct CompactJWS: Sendable {
    /// `BASE64URL(header)`.
    package let header: Range<Int>
    /// `BASE64URL(payload)`.
    package let payload: Range<Int>
    /// `BASE64URL(signature)`.
    package let signature: Range<Int>

    /// Splits at exactly two dots into three parts that are not empty; nil when that is not possible.
    init?(_ bytes: [UInt8]) {
        guard let parts = bytes.withUnsafeBytes({ CompactJWS($0) }) else { return nil }
        self = parts
    }

    /// Splits at exactly two dots into three parts that are not empty; nil when that is not possible.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard let first = Self.dot(in: bytes, from: 0),
            let second = Self.dot(in: bytes, from: first + 1),
            Self.dot(in: bytes, from: second + 1) == nil,
            first > 0, second > first + 1, bytes.count > second + 1
        else { return nil }
        header = 0..<first
        payload = (first + 1)..<second
        signature = (second + 1)..<bytes.count
    }

    /// Whether every part is one of base64url without padding, by its characters and by how many it has.
    ///
    /// - Parameter bytes: those that were split.
    package func isBase64URL(in bytes: UnsafeRawBufferPointer) -> Bool {
        // Four characters are three bytes; a rest of one character is no byte at all.
        [header, payload, signature].allSatisfy { $0.count % 4 != 1 && bytes[$0].allSatisfy(Self.isBase64URL) }
    }

    @inline(__always)
    private static func isBase64URL(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// The first dot at or after a position; `memchr`, since the header alone has 4 kB.
    private static func dot(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard start < bytes.count, let base = bytes.baseAddress,
            let found = memchr(base + start, Int32(UInt8(ascii: ".")), bytes.count - start)
        else { return nil }
        return UnsafeRawPointer(found) - base
    }
}
