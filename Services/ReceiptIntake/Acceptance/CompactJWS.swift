import AppStore

/// The outer form of a JWS in compact serialisation, and no more: three parts of base64url with full stops between.
///
/// Intake checks so much because it is cheap and an app's mistake is told at once; whether Apple signed it is for the
/// verification workers. Source: RFC 7515, section 7.1.
struct CompactJWS: Sendable {
    /// The largest signed transaction in bytes; real ones have about 4,000.
    static let bytesMaximum = 64 << 10

    /// The whole text.
    let text: String
    /// Where the middle part stands, in bytes of the text.
    private let payloadRange: Range<Int>

    /// Reads a text; nil when it is not such a form or longer than `bytesMaximum`.
    init?(_ text: String, bytesMaximum: Int = CompactJWS.bytesMaximum) {
        guard text.utf8.count <= bytesMaximum else { return nil }
        var contiguous = text
        guard let payloadRange = contiguous.withUTF8(Self.payloadRange) else { return nil }
        self.text = contiguous
        self.payloadRange = payloadRange
    }

    /// Reads what apps post for a JWS: it, or it in base64, as StoreKit's bytes are encoded by mistake.
    ///
    /// Apps in the field cannot be mended. One JWS has one text, however it was posted.
    init?(posted text: String) {
        if let jws = CompactJWS(text) {
            self = jws
            return
        }
        // A JWS begins with an "e", the first of a brace's six bits; in base64 again, that is a "Z".
        guard text.utf8.first == UInt8(ascii: "Z"), text.utf8.count <= Self.wrappedBytesMaximum,
            let bytes = Base64URL.decodeLeniently(text), let inner = String(validating: bytes, as: UTF8.self)
        else { return nil }
        self.init(inner)
    }

    /// The largest one in base64, with line breaks.
    private static let wrappedBytesMaximum = bytesMaximum * 2

    /// The middle part, decoded; nil when its last bits are none that an encoder writes.
    var payload: [UInt8]? {
        var text = text
        return text.withUTF8 { Base64Decoding.urlSafe(Array($0[payloadRange])[...]) }
    }

    /// Checks every byte, once.
    private static func payloadRange(_ bytes: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        var parts: [Range<Int>] = []
        var start = 0
        for (place, byte) in bytes.enumerated() where !isBase64URL(byte) {
            guard byte == UInt8(ascii: "."), parts.count < 2 else { return nil }
            parts.append(start..<place)
            start = place + 1
        }
        parts.append(start..<bytes.count)
        // Four characters are three bytes; a rest of one character is no byte at all.
        guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty && $0.count % 4 != 1 }) else { return nil }
        return parts[1]
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
}
