/// Apple's `revision`: where a page ended; a client that keeps it gets what changed since (apple-facts C2).
///
/// Written as the instant of the last change and the number of that change. The number alone counts: it grows even if
/// the clock is set back.
struct RevisionToken: Sendable, Equatable {
    enum Limit {
        /// Characters of a token.
        static let length = 64
    }

    /// Milliseconds since 1970.
    var modifiedDate: Int64
    var revision: Int64

    init(modifiedDate: Int64, revision: Int64) {
        self.modifiedDate = modifiedDate
        self.revision = revision
    }

    /// Reads a token.
    ///
    /// - Throws: 4000005.
    init(_ text: String) throws(APIError) {
        let numbers = text.split(separator: "_", omittingEmptySubsequences: false).map { Int64($0) }
        guard text.utf8.count <= Limit.length, numbers.count == 2, let date = numbers[0], let revision = numbers[1],
            date >= 0, revision >= 0
        else { throw .invalidRequestRevision }
        self.init(modifiedDate: date, revision: revision)
    }

    var text: String { "\(modifiedDate)_\(revision)" }
}
