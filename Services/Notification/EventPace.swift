/// Lets events gather while more come than one at a time: nobody waits for a webhook as a player waits for an outcome, and a
/// commit of ten costs little more than a commit of one.
///
/// The first event after a rest is taken over at once. A batch that is large enough, as after an outage, is followed by the next
/// without a pause.
struct EventPace: Sendable {
    /// From the beginning of one batch to that of the next, at least.
    static let interval = Duration.milliseconds(15)
    /// A batch of so many is followed by the next at once.
    static let largeBatch = 64

    private let clock = ContinuousClock()

    /// Runs the work of a batch, and rests until the next may begin.
    ///
    /// - Throws: what the work throws.
    func run(batchOf count: Int, _ work: () async throws -> Void) async throws {
        let beganAt = clock.now
        try await work()
        guard count < Self.largeBatch, clock.now < beganAt + Self.interval else { return }
        // A rest that is broken off is no failure of the batch.
        try? await clock.sleep(until: beganAt + Self.interval)
    }
}
