/// The Kafka topics, their keys and their default partitions.
public enum Topics {
    /// Proofs to verify; key: the original transaction id peeked from the proof, else the account.
    public static let submissions = "countersign.submissions"
    /// Proofs that only Apple's servers can settle; key: as of ``submissions``.
    ///
    /// Apart from ``submissions``, so that what can be settled offline never waits behind Apple.
    public static let lookups = "countersign.lookups"
    /// What verification found; key: the original transaction id, else the submission id.
    public static let verdicts = "countersign.verdicts"
    /// What happened; key: the account, else the original transaction id.
    public static let events = "countersign.events"
    /// Messages that could not be read, as they came, and why.
    public static let deadLetters = "countersign.dead-letters"

    /// Partitions each topic is made with, unless configured otherwise.
    public static let partitionsByDefault: [(name: String, partitions: Int)] = [
        (submissions, 12), (lookups, 12), (verdicts, 12), (events, 12), (deadLetters, 3),
    ]
}
