/// The outer form of a JWS in compact serialisation, and no more: three parts of base64url with full stops between.
///
/// Intake checks so much because it is cheap and an app's mistake is told at once; whether Apple signed it is for the
/// verification workers. Source: RFC 7515, section 7.1.
struct CompactJWS: Sendable {
    /// The largest signed transaction in bytes; real ones have about 4,000.
    static let bytesMaximum = 64 << 10

    /// The whole text.
    let text: String
    /// The middle part, in base64url.
    let encodedPayload: Substring

    /// Reads a text; nil when it is not such a form or longer than `bytesMaximum`.
    init?(_ text: String, bytesMaximum: Int = CompactJWS.bytesMaximum) {
        guard text.utf8.count <= bytesMaximum else { return nil }
        let parts = text.split(separator: ".", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy(Self.isBase64URL) else { return nil }
        self.text = text
        self.encodedPayload = parts[1]
    }

    private static func isBase64URL(_ part: Substring) -> Bool {
        let bytes = part.utf8
        // Four characters are three bytes; a rest of one character is no byte at all.
        guard !bytes.isEmpty, bytes.count % 4 != 1 else { return false }
        return bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
}
