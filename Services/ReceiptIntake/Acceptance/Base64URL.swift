import Foundation

/// Base64 with the alphabet for addresses and without padding.
///
/// Source: RFC 4648, section 5.
enum Base64URL {
    /// The text that bytes are written as.
    static func encode(_ bytes: Data) -> String {
        bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// The bytes that a text means in either alphabet, with or without padding and line breaks; nil when it is neither.
    static func decodeLeniently(_ text: String) -> Data? {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: "-"))
            case UInt8(ascii: "/"): bytes.append(UInt8(ascii: "_"))
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "="): break
            default: bytes.append(byte)
            }
        }
        return decode(String(decoding: bytes, as: UTF8.self))
    }

    /// The bytes that a text means; nil when it is not base64url.
    static func decode(_ text: some StringProtocol) -> Data? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 3)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "-"): bytes.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): bytes.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: bytes.append(byte)
            }
        }
        while bytes.count % 4 != 0 { bytes.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: Data(bytes))
    }
}
