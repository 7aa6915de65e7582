package import Foundation

/// Which parts of a joined transaction come from another statement than the one whose `signedDate` it has.
///
/// It is what makes joining independent of order: a part that an older statement told must not outrank a part of a
/// statement that comes later, and is newer than the one it came from. A transaction of one statement has none.
package struct StatementSources: Codable, Sendable, Hashable {
    /// Whether one of the statements was signed by itself, and not only told by a receipt.
    package var isSigned: Bool
    /// The parts of other statements, by name.
    package var parts: [String: Source]

    /// A statement, as far as it decides which one counts.
    package struct Source: Codable, Sendable, Hashable {
        /// Whether it was signed by itself.
        package var isSigned: Bool
        /// When Apple signed it.
        package var date: Date

        enum CodingKeys: String, CodingKey {
            case isSigned = "signed"
            case date
        }

        /// Whether a statement's word counts less than another's: a receipt's than a signed one's, an older than a newer.
        func isLess(than other: Source) -> Bool {
            isSigned == other.isSigned ? date < other.date : other.isSigned
        }
    }

    enum CodingKeys: String, CodingKey {
        case isSigned = "signed"
        case parts
    }
}
