import Crypto
package import Messages

/// The id of a submission is its content: posting the same proof again, for whatever reason, is the same row.
package enum SubmissionIdentifier {
    /// What every id begins with.
    package static let prefix = "sub_"
    /// Bytes of the digest that are kept: 128 bits, so that no two contents ever meet.
    private static let digestBytes = 16
    /// What a player's number has beside it; no transaction id, since those have no space.
    private static let playersPart = "posted by a player"

    /// The id of a proof that an account posts for an app.
    ///
    /// The transaction that is named in a receipt belongs to it, since naming another one claims another purchase. The
    /// expected environment does not: it is a hint. Where the content is a number that proves nothing by itself, it counts
    /// who says it: a player's post of it must not stand in for the server's, nor the other way round.
    ///
    /// - Parameter isPlayersNumber: whether a player's token posts a bare number: a transaction id or an order id.
    package static func make(
        app: String, account: String, kind: ProofKind, proof: String, namedTransactionId: String? = nil,
        isPlayersNumber: Bool = false
    ) -> String {
        var hash = SHA256()
        // A part that is absent is no part, so that ids from before there was one stay what they were.
        let parts = [app, account, kind.rawValue, proof] + (namedTransactionId.map { [$0] } ?? [])
        for part in parts + (isPlayersNumber ? [playersPart] : []) {
            // The length goes first, so that no two lists of parts are the same bytes.
            withUnsafeBytes(of: UInt64(part.utf8.count).bigEndian) { hash.update(bufferPointer: $0) }
            hash.update(data: Array(part.utf8))
        }
        return prefix + hash.finalize().prefix(digestBytes).lowercaseHexadecimal
    }

    /// Whether a text has the form of an id.
    package static func isWellFormed(_ text: String) -> Bool {
        guard text.hasPrefix(prefix) else { return false }
        let digits = text.utf8.dropFirst(prefix.utf8.count)
        return digits.count == digestBytes * 2
            && digits.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            }
    }
}

extension Sequence<UInt8> {
    /// Two lower-case digits a byte.
    package var lowercaseHexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
