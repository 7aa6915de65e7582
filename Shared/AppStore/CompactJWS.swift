import Foundation

/// A JWS in its compact form (RFC 7515, section 7.1), split but not decoded: positions in the bytes it came in.
struct CompactJWS {
    /// `BASE64URL(header)`.
    let header: Range<Int>
    /// `BASE64URL(payload)`.
    let payload: Range<Int>
    /// `BASE64URL(signature)`.
    let signature: Range<Int>

    /// Splits at exactly two dots into three parts that are not empty; nil when that is not possible.
    init?(_ bytes: [UInt8]) {
        guard let first = Self.dot(in: bytes, from: 0),
            let second = Self.dot(in: bytes, from: first + 1),
            Self.dot(in: bytes, from: second + 1) == nil,
            first > 0, second > first + 1, bytes.count > second + 1
        else { return nil }
        header = 0..<first
        payload = (first + 1)..<second
        signature = (second + 1)..<bytes.count
    }

    /// The first dot at or after a position; `memchr`, since the header alone has 4 kB.
    private static func dot(in bytes: [UInt8], from start: Int) -> Int? {
        bytes.withUnsafeBytes { bytes -> Int? in
            guard start < bytes.count, let base = bytes.baseAddress,
                let found = memchr(base + start, Int32(UInt8(ascii: ".")), bytes.count - start)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }
}
