package import Foundation

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
