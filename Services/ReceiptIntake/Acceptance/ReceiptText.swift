/// The outer form of an app receipt, and no more: base64 of something that begins like a PKCS #7 container.
///
/// One receipt has one text, or posting it again would be another submission: line breaks are removed, and everything
/// else of base64 has one spelling (RFC 4648, sections 3.5 and 4). The first byte is 0x30 in DER, and in the BER that
/// Xcode's local receipts have; which of the two it is, the verification workers tell.
struct ReceiptText: Sendable {
    /// The largest receipt in bytes, decoded: what `ReceiptLimits` of the module AppStore has.
    ///
    /// A real receipt of 187 purchases has 79 kB.
    static let bytesMaximum = 4 << 20
    /// The same as characters of base64.
    static let charactersMaximum = (bytesMaximum + 2) / 3 * 4

    /// Base64 without line breaks.
    let text: String

    /// Why a text is no receipt.
    enum Flaw: Error, CaseIterable {
        case empty
        case tooLarge
        case signedTransaction
        case oldTransactionReceipt
        case urlAlphabet
        case space
        case foreignCharacter
        case incomplete
        case notContainer
    }

    /// Reads a text.
    init(_ given: String) throws(Flaw) {
        var bytes = Array(given.utf8)
        let isBroken = bytes.contains(where: Self.isLineBreak)
        if isBroken { bytes.removeAll(where: Self.isLineBreak) }
        if let flaw = Self.flaw(of: bytes) { throw flaw }
        text = isBroken ? String(decoding: bytes, as: UTF8.self) : given
    }

    private static func isLineBreak(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }

    private static func flaw(of bytes: [UInt8]) -> Flaw? {
        guard !bytes.isEmpty else { return .empty }
        guard bytes.count <= charactersMaximum else { return .tooLarge }
        let padding = bytes.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        // PEM's hyphens are not those of the other alphabet.
        guard !bytes.starts(with: Array("-----".utf8)) else { return .foreignCharacter }
        for byte in bytes.dropLast(padding) where value(of: byte) == nil { return flaw(of: byte) }
        guard bytes.count % 4 == 0, let last = value(of: bytes[bytes.count - padding - 1]) else { return .incomplete }
        // Bits behind the last byte would be a second spelling of the same receipt.
        guard last & [0, 0b11, 0b1111][padding] == 0 else { return .incomplete }
        guard let first = value(of: bytes[0]), let second = value(of: bytes[1]) else { return .incomplete }
        switch first << 2 | second >> 4 {
        case 0x30: return nil
        case UInt8(ascii: "{"): return .oldTransactionReceipt
        default: return .notContainer
        }
    }

    private static func flaw(of byte: UInt8) -> Flaw {
        switch byte {
        case UInt8(ascii: "."): .signedTransaction
        case UInt8(ascii: "-"), UInt8(ascii: "_"): .urlAlphabet
        case UInt8(ascii: " "): .space
        default: .foreignCharacter
        }
    }

    /// The six bits that a character of base64 means.
    private static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

extension ReceiptText.Flaw: CustomStringConvertible {
    /// What a developer should know; a half sentence after "`receipt`".
    var description: String {
        switch self {
        case .empty: "is empty: the app has no receipt yet, and may have StoreKit refresh it."
        case .tooLarge: "has more than \(ReceiptText.bytesMaximum) bytes."
        case .signedTransaction: "looks like a JWS: send that as `signed_transaction`."
        case .oldTransactionReceipt: "is the receipt of one transaction as before iOS 7: send the app's receipt."
        case .urlAlphabet: "is base64url: encode it with the standard alphabet, with + and /."
        case .space: "has spaces; a form turns + into spaces, so send it as JSON."
        case .foreignCharacter: "has a character that base64 does not have."
        case .incomplete: "ends within a byte or with the wrong padding: it was cut off, or altered."
        case .notContainer: "is base64, and no PKCS #7 container: send the app receipt's bytes in base64, encoded once."
        }
    }
}
