/// Why a text is not the JSON that was expected; never says what is in it.
package struct JSONFault: Error, Sendable, Hashable {
    /// The reason, for developers.
    package let reason: String

    package init(_ reason: String) {
        self.reason = reason
    }
}
