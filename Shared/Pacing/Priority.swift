/// Who goes first when Apple allows only so many requests.
public enum Priority: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// A player waits for the answer.
    case player
    /// Something has to be done by a time.
    case deadline
    /// Nobody waits: looking after what may have been missed.
    case sweep

    /// What goes first is less.
    public static func < (left: Priority, right: Priority) -> Bool {
        left.rawValue < right.rawValue
    }
}
