import AppStore
import JSONText

/// A JWS as it was posted, of which the outer form is right, and no more: three parts of base64url with full stops between.
///
/// Intake checks so much because it is cheap and an app's mistake is told at once; whether Apple signed it is for the
/// verification workers. Source: RFC 7515, section 7.1.
struct PostedJWS: Sendable {
    /// The largest signed transaction in bytes; real ones have about 4,000.
    static let bytesMaximum = 64 << 10

    /// The whole text.
    let text: String
    /// Where its parts stand, in bytes of the text.
    private let parts: CompactJWS

    /// Reads a text; nil when it is not such a form or longer than `bytesMaximum`.
    init?(_ text: String, bytesMaximum: Int = PostedJWS.bytesMaximum) {
        guard text.utf8.count <= bytesMaximum else { return nil }
        var contiguous = text
        guard let parts = contiguous.withUTF8(Self.parts) else { return nil }
        self.text = contiguous
        self.parts = parts
    }

    /// Reads what apps post for a JWS: it, or it in base64, as StoreKit's bytes are encoded by mistake.
    ///
    /// Apps in the field cannot be mended. One JWS has one text, however it was posted.
    init?(posted text: String) {
        if let jws = PostedJWS(text) {
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
        return text.withUTF8 { Base64Decoding.urlSafe(Array($0[parts.payload])[...]) }
    }

    /// Apple's payloads are flat but for one object.
    private static let rules = JSONTape.Rules(nestingDepthMaximum: JSONBody.nestingMaximum, allowsNUL: false)

    /// A member of the payload that is a string, as it stands there; nil where there is none.
    func bytes(of member: String) -> ArraySlice<UInt8>? {
        guard let payload, let tape = try? JSONTape(payload, rules: Self.rules), tape.kind(of: 0) == .object,
            let place = tape.member(member, of: 0), tape.kind(of: place) == .string
        else { return nil }
        return tape.raw(place)
    }

    private static func parts(_ bytes: UnsafeBufferPointer<UInt8>) -> CompactJWS? {
        let bytes = UnsafeRawBufferPointer(bytes)
        guard let parts = CompactJWS(bytes), parts.isBase64URL(in: bytes) else { return nil }
        return parts
    }
}
