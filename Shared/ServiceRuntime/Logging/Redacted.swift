/// A value that must not be printed: connection URLs with passwords, keys, receipts.
///
/// Every way of printing it shows `<redacted>`; ``value`` is the only way to the content.
package struct Redacted<Value>: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The content.
    package let value: Value

    /// Wraps a value.
    package init(_ value: Value) {
        self.value = value
    }

    /// Always `<redacted>`.
    package var description: String { "<redacted>" }
    /// Always `<redacted>`.
    package var debugDescription: String { "<redacted>" }
    /// A mirror without children, so that `dump` shows nothing either.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Redacted: Sendable where Value: Sendable {}
extension Redacted: Equatable where Value: Equatable {}
extension Redacted: Hashable where Value: Hashable {}
