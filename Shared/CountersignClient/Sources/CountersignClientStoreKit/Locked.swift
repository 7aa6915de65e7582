import Foundation

/// Something that several tasks change; `Mutex` needs iOS 18.
// Safety: the value is reached with the lock held alone.
final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}

/// Takes what StoreKit 1 gives from the main actor to whoever asked.
// Safety: of what is passed nobody changes anything: products and responses.
struct Passed<Value>: @unchecked Sendable {
    let value: Value
}
