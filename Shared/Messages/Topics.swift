/// The Kafka topics, their keys and their default partitions.
///
/// Every event has a key, by which related events are known: ``CloudEvent/key``. Only in the topics that are keyed it is
/// the record's key, too, and decides the partition; see `Shared/Decisions/0013-a-batch-stays-together.md`.
package enum Topics {
    /// Proofs to verify; key: the original transaction id peeked from the proof, else the account.
    package static let submissions = "countersign.submissions"
    /// Proofs that only Apple's servers can settle; key: as of ``submissions``.
    ///
    /// Apart from ``submissions``, so that what can be settled offline never waits behind Apple.
    package static let lookups = "countersign.lookups"
    /// What verification found; key: the original transaction id, else the submission id.
    package static let verdicts = "countersign.verdicts"
    /// What happened, for ``TopicUse/deliveries`` as soon as it is committed; key: as of ``events``.
    package static let deliveries = "countersign.deliveries"
    /// What happened, for the studio's own consumers, in the order of positions; key: the account, else the original transaction id.
    ///
    /// Apart from ``deliveries``, since a batch is a request to the broker for each of its accounts' partitions.
    package static let events = "countersign.events"
    /// Outcomes of submissions, hints for the callers who wait; key: the submission id.
    ///
    /// Apart from ``events``, since every intake process reads all of it.
    package static let settlements = "countersign.settlements"
    /// Messages that could not be read, as they came, and why.
    package static let deadLetters = "countersign.dead-letters"

    /// Partitions each topic is made with, unless configured otherwise.
    ///
    /// A consumer names each of its partitions in each of its requests. Keyed topics have more, since they cannot get more later
    /// without keys moving to other partitions; see `Shared/Decisions/0043-six-partitions.md`.
    package static let partitionsByDefault: [(name: String, partitions: Int)] = [
        (submissions, 6), (lookups, 12), (verdicts, 6), (deliveries, 6), (events, 12),
        (settlements, 3), (deadLetters, 3),
    ]

    /// The topics that no group shares out, so that the number of their partitions bounds no number of processes.
    package static let withFewPartitions: Set<String> = [settlements, deadLetters]

    /// Whether the key of an event decides its partition there.
    ///
    /// - ``events``: studios may read it, and an account's events are to come in their order.
    /// - ``lookups``: a worker remembers Apple's answers, and a repetition must come to the worker that has the answer. And the
    ///   budget of a worker is the share of its partitions, so they must fill evenly.
    ///
    /// Elsewhere nothing depends on the order, and messages that are sent together share a request.
    package static func isKeyed(_ topic: String) -> Bool {
        topic == events || topic == lookups
    }
}
