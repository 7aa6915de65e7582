/// The id of an order as Apple's e-mail to the customer tells it, such as `MV7KQ2XH0P`.
///
/// A player copies it from an e-mail, so spaces around it and the case of its letters are not the player's fault: it is
/// trimmed and written in upper case, and so is the same however it was typed.
/// Source: developer.apple.com/documentation/appstoreserverapi/orderid.
struct OrderId: Sendable {
    /// The most characters; Apple's have about ten.
    static let lengthMaximum = 64

    /// The id, in upper case.
    let text: String

    /// Takes a text; nil unless it is 1 to `lengthMaximum` letters and digits of ASCII between white space.
    init?(_ given: String) {
        // Counted first, so that a long text of spaces costs nothing.
        guard given.utf8.count <= 2 * Self.lengthMaximum else { return nil }
        let trimmed = given.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed()
        guard let id = TransactionId(String(trimmed)) else { return nil }
        text = id.text.uppercased()
    }
}
