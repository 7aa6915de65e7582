import Crypto
import HTTPTypes
import Persistence

/// The credentials of a request: `Authorization: Bearer …`.
///
/// Source: RFC 6750, section 2.1.
struct BearerToken: Sendable {
    /// The longest token in bytes; a JWT with a large key's signature has about 1,500.
    static let bytesMaximum = 8 << 10
    /// What every server API key begins with, so that a scanner finds one that was published by mistake.
    static let serverKeyPrefix = "csk_"

    /// The token itself: never to be logged.
    let value: String

    /// Reads the header; nil when there is none of this scheme, or it is too long.
    init?(_ headers: HTTPFields) {
        guard let field = headers[.authorization], field.utf8.count <= Self.bytesMaximum else { return nil }
        let parts = field.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        let token = parts[1].drop { $0 == " " }
        guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ",") }) else {
            return nil
        }
        value = String(token)
    }

    /// Whether it is a server API key; anything else is taken for a JWT.
    var isServerKey: Bool { value.hasPrefix(Self.serverKeyPrefix) }

    /// The place of its SHA-256 among these, which are in lower-case hexadecimal digits; nil where it is none of them.
    ///
    /// Every hash is compared to its end, so that time tells nothing of how much was right.
    func place(among hashes: [String]) -> Int? {
        let own = Array(SHA256.hash(data: Array(value.utf8)).lowercaseHexadecimal.utf8)
        var place: Int?
        for (index, hash) in hashes.enumerated() where Self.isSame(own, Array(hash.utf8)) { place = index }
        return place
    }

    @inline(never)
    private static func isSame(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        var difference: UInt8 = 0
        for (one, other) in zip(left, right) { difference |= one ^ other }
        return difference == 0
    }
}
