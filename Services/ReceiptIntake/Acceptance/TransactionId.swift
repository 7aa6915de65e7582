/// An id of a transaction in the form that intake lets in; Apple's have 15 to 18 digits.
///
/// Letters are let in because Apple calls it a string and promises no digits.
/// Source: developer.apple.com/documentation/appstoreserverapi/transactionid.
struct TransactionId: Sendable {
    /// The most characters.
    static let lengthMaximum = 64

    /// The id.
    let text: String

    /// Takes a text; nil unless it is 1 to `lengthMaximum` letters and digits of ASCII.
    init?(_ text: String) {
        let bytes = text.utf8
        guard (1...Self.lengthMaximum).contains(bytes.count), bytes.allSatisfy(Self.isLetterOrDigit) else { return nil }
        self.text = text
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
