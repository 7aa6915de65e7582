/// The studio's own id of an account, within the limits that everything behind intake relies on.
public struct AccountName: Sendable, Hashable {
    /// The most Unicode scalars of a name.
    public static let lengthMaximum = 255

    /// The name as it came; nothing is normalised, since two names that look alike may be two accounts.
    public let text: String

    /// Takes a name; nil when it is empty, too long, or has control characters or line separators.
    public init?(_ text: String) {
        guard PrintableText.isOne(text, lengthMaximum: Self.lengthMaximum) else { return nil }
        self.text = text
    }

    /// Byte for byte: `String` would take different encodings of an accented letter for the same.
    public static func == (left: AccountName, right: AccountName) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    /// Goes with `==`.
    public func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}
