/// Where something that was received stands.
package enum SubmissionState: String, Codable, Sendable, Hashable, CaseIterable {
    /// Accepted, on disk, and due until it has an outcome.
    case received
    /// Every transaction of it is granted, or was recorded as taken back by Apple before.
    case fulfilled
    /// Refused for good, with a reason.
    case rejected
    /// Genuine but doubtful: recorded, held, granted to nobody yet.
    case parked

    /// True once there is an outcome.
    package var isSettled: Bool { self != .received }
}

/// Where an order, one Apple transaction, stands.
package enum OrderState: String, Codable, Sendable, Hashable, CaseIterable {
    /// Its account has what was bought.
    case granted
    /// Held until a doubt is resolved.
    case parked
    /// Taken back by Apple; grants nothing.
    case revoked
}
