/// Accounts are compared byte for byte, as the database does.
///
/// `String` takes different encodings of an accented letter for the same, and those may be two accounts.
extension String? {
    /// Whether both are the same account, or both nobody.
    func isSameAccount(as other: String?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.utf8.elementsEqual(other.utf8)
    }
}
