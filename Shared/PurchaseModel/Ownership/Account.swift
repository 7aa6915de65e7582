package import Foundation

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

/// Accounts that were forgotten: a name at random stands for each, so that sums and owners stay.
///
/// Nothing leads from the name to the pseudonym: a hash could be guessed, and which became which is stored nowhere.
extension Account {
    /// What begins every pseudonym; a UUID in lower case follows.
    package static let pseudonymPrefix = "forgotten-"

    /// The pseudonym that a UUID makes.
    package static func pseudonym(_ uuid: UUID) -> Account {
        Account(stored: pseudonymPrefix + uuid.uuidString.lowercased())
    }

    /// Whether it was forgotten.
    package var isPseudonym: Bool { Self.isPseudonym(text) }

    /// Whether a name has the form of a pseudonym: none such is taken from outside.
    static func isPseudonym(_ text: String) -> Bool {
        guard text.utf8.starts(with: pseudonymPrefix.utf8) else { return false }
        return UUID(uuidString: String(text.dropFirst(pseudonymPrefix.count))) != nil
    }
}

/// An account within its app and environment: what balances, entitlements and the numbers of events are of.
package struct Customer: Sendable, Hashable, Comparable {
    package let environment: StoreEnvironment
    /// The app's bundle id.
    package let app: String
    package let account: Account

    package init(environment: StoreEnvironment, app: String, account: Account) {
        self.environment = environment
        self.app = app
        self.account = account
    }

    /// The order in which rows are locked, the same everywhere, so that two batches cannot wait for each other.
    package static func < (left: Customer, right: Customer) -> Bool {
        if left.account != right.account { return left.account < right.account }
        return (left.app, left.environment.rawValue) < (right.app, right.environment.rawValue)
    }
}

/// The rule for names that come from outside and go into rows and logs.
package enum PrintableText {
    /// Whether a text has 1 to `lengthMaximum` Unicode scalars, and neither control characters nor line separators.
    package static func isOne(_ text: String, lengthMaximum: Int) -> Bool {
        let scalars = text.unicodeScalars
        guard !scalars.isEmpty, scalars.prefix(lengthMaximum + 1).count <= lengthMaximum else { return false }
        return scalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: false
            default: true
            }
        }
    }
}
