/// An error that does not pass by itself: somebody has to change something.
public struct KafkaTrouble: Sendable, Hashable, CustomStringConvertible {
    /// The error as it came last, with what to do about it.
    public let error: KafkaError
    /// Whether the client cannot do its work while this lasts; otherwise only some messages fail.
    public let stopsWork: Bool

    /// Makes a trouble; for tests, too.
    public init(error: KafkaError, stopsWork: Bool) {
        self.error = error
        self.stopsWork = stopsWork
    }

    /// A sentence for an operator, without secrets: what it is, and what to do.
    public var description: String {
        guard let remedy = error.remedy else { return error.detail }
        return "\(error.detail); \(remedy)"
    }
}
