/// Which of a purchase's transactions say that it was refunded, or taken from a family member.
///
/// What Apple does with several ids is not known (apple-facts C18).
enum RevocationScope: String, Sendable, CaseIterable {
    /// The one that the notification names.
    case namedTransaction
    case everyTransaction
}
