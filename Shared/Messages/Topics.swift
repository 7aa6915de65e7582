/// The Kafka topics, their keys and their default partitions.
package enum Topics {
    /// Proofs to verify; key: the original transaction id peeked from the proof, else the account.
    package static let submissions = "countersign.submissions"
    /// Proofs that only Apple's servers can settle; key: as of ``submissions``.
    ///
    /// Apart from ``submissions``, so that what can be settled offline never waits behind Apple.
    package static let lookups = "countersign.lookups"
    /// What verification found; key: the original transaction id, else the submission id.
    package static let verdicts = "countersign.verdicts"
    /// What happened; key: the account, else the original transaction id.
    package static let events = "countersign.events"
    /// Messages that could not be read, as they came, and why.
    package static let deadLetters = "countersign.dead-letters"

    /// Partitions each topic is made with, unless configured otherwise.
    package static let partitionsByDefault: [(name: String, partitions: Int)] = [
        (submissions, 12), (lookups, 12), (verdicts, 12), (events, 12), (deadLetters, 3),
    ]
}
