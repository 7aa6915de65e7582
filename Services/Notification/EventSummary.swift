import Messages

/// What decides where an event goes; the rest of it is sent on as it is, so that tomorrow's events need no new code.
struct EventSummary: EventMessage, Decodable, Hashable {
    /// What the types of all events begin with that are told to the studio's backend.
    static let typePrefix = PurchaseEvent.typePrefix

    /// The event's id.
    let id: String
    /// Its type.
    let type: String
    /// The app's bundle id.
    let app: String
    /// `production` or `sandbox`.
    let environment: String
}
