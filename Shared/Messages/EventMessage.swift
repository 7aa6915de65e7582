/// What a service reads from a topic.
package protocol EventMessage: Sendable {
    /// Reads what an event says.
    ///
    /// - Throws: `DecodingError`, for an event that does not say such a thing.
    static func read(_ event: CloudEvent) throws -> Self
}

extension EventMessage where Self: Decodable {
    /// Reads data that are JSON.
    ///
    /// - Throws: `DecodingError`.
    package static func read(_ event: CloudEvent) throws -> Self {
        try MessageCoding.decode(Self.self, from: event.data)
    }
}
