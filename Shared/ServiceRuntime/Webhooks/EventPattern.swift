/// Which event types an endpoint takes: an exact type, or all that begin the same (`iap.transaction.*`, `*`).
package struct EventPattern: Sendable, Hashable {
    private let text: String
    private let isPrefix: Bool

    /// Reads a pattern; nil when it is empty, or has a `*` elsewhere than at its end.
    package init?(_ pattern: String) {
        isPrefix = pattern.hasSuffix("*")
        text = isPrefix ? String(pattern.dropLast()) : pattern
        guard !pattern.isEmpty, !text.contains("*") else { return nil }
    }

    /// Whether an event of this type is meant.
    package func matches(_ type: String) -> Bool {
        isPrefix ? type.hasPrefix(text) : type == text
    }
}
