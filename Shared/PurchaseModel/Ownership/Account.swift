/// An account of an app: the studio's own id of it.
///
/// Two accounts are equal when their bytes are. `String` takes different encodings of an accented letter for the same, and
/// those may be two accounts; the database compares bytes, too.
package struct Account: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    /// The most Unicode scalars of a name.
    package static let lengthMaximum = 255

    /// The name as it came; nothing is normalised.
    package let text: String

    /// Takes a name from outside; nil when it is empty, too long, a pseudonym, or has control characters or line separators.
    package init?(_ text: String) {
        guard PrintableText.isOne(text, lengthMaximum: Self.lengthMaximum), !Self.isPseudonym(text) else { return nil }
        self.text = text
    }

    /// Takes a name out of a row or a message of ours: it was checked when it came from outside.
    package init(stored text: String) {
        self.text = text
    }

    /// Reads a name that was checked when it came from outside.
    package init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
    }

    /// Writes the name alone.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    package var description: String { text }

    package static func == (left: Account, right: Account) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }

    /// By bytes, as PostgreSQL's collation "C" sorts.
    package static func < (left: Account, right: Account) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
}
