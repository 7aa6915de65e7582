import HTTPTypes

/// How server notifications go astray on their way.
///
/// The sender asks ``FaultBook`` and not this: the book keeps the random numbers and counts.
struct NotificationFaults: Codable, Sendable, Equatable {
    enum Limit {
        /// Milliseconds that a delivery may be held back: two minutes.
        static let delay: Int64 = 120_000
    }

    /// The share of notifications that are sent twice, 0 to 1.
    var duplicateShare: Double?
    /// Whether the notifications of one batch are sent in another order than they came about.
    var outOfOrder: Bool?
    /// The share of attempts that are lost on the way and count as `NO_RESPONSE`, 0 to 1.
    var dropShare: Double?
    /// Real milliseconds that every attempt is held back.
    var delayMs: Int64?
    /// Decides the random numbers, so that a run can be repeated.
    var seed: Int64?

    enum CodingKeys: String, CodingKey, CaseIterable { case duplicateShare, outOfOrder, dropShare, delayMs, seed }

    /// Refuses shares and delays that cannot be.
    func check(named name: String) throws(Problem) {
        for (field, share) in [("duplicateShare", duplicateShare), ("dropShare", dropShare)] {
            if let share, !(0...1).contains(share) { throw Problem(.badRequest, "\(name).\(field): 0 to 1") }
        }
        if let delayMs, !(0...Limit.delay).contains(delayMs) {
            throw Problem(.badRequest, "\(name).delayMs: 0 to \(Limit.delay)")
        }
    }

    /// A batch as it is to be sent: in order, with a repeat right behind its first; or all of it shuffled.
    ///
    /// A shuffled batch of two or more different ones never has the order that it came in.
    func plan(
        for batch: [NotificationRecord], using generator: inout SeededGenerator
    ) -> (sent: [NotificationRecord], repeats: Int) {
        var sent: [NotificationRecord] = []
        for record in batch {
            sent.append(record)
            if generator.isOne(of: duplicateShare ?? 0) { sent.append(record) }
        }
        let repeats = sent.count - batch.count
        guard outOfOrder == true, batch.count > 1 else { return (sent, repeats) }
        sent.shuffle(using: &generator)
        // A shuffle may leave everything in its place; the first is then sent last.
        if zip(sent, sent.dropFirst()).allSatisfy({ $0.sequence <= $1.sequence }) { sent.append(sent.removeFirst()) }
        return (sent, repeats)
    }
}
