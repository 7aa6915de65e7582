/// What a service does with the topics: the one place that says it.
///
/// The doctor looks for these groups, `countersign topics --acls` allows just this, and the services take their groups'
/// names from here.
package struct TopicUse: Sendable {
    /// A consumer group and the one topic that it reads.
    package struct Group: Sendable, Hashable {
        /// The group's name.
        package let name: String
        /// The topic that its members share.
        package let topic: String
        /// The service whose processes are its members.
        package let service: String

        package init(name: String, topic: String, service: String) {
            self.name = name
            self.topic = topic
            self.service = service
        }
    }

    /// The service's name, which is also its client id and, where the cluster knows users, its user.
    package let service: String
    /// The topics that it writes.
    package let writes: [String]
    /// The groups that its processes join.
    package let groups: [Group]
    /// The topics that each of its processes reads for itself, from the end, without a group.
    package let tails: [String]
    /// The groups of others of which it asks how far they are.
    package var watches: [Group] = []

    /// Judges what can be judged offline.
    package static let submissions = Group(
        name: "countersign.verification-worker", topic: Topics.submissions, service: "verification-worker")
    /// Asks Apple; apart from ``submissions``, so that these never wait behind Apple.
    package static let lookups = Group(
        name: "countersign.verification-worker.lookups", topic: Topics.lookups, service: "verification-worker")
    /// Grants and revokes.
    package static let verdicts = Group(
        name: "countersign.fulfillment", topic: Topics.verdicts, service: "fulfillment")
    /// Tells the studio's backend.
    package static let deliveries = Group(
        name: "countersign.notification", topic: Topics.deliveries, service: "notification")

    /// Every service; a group's members write what they cannot handle to the dead letters.
    package static let all = [
        TopicUse(
            service: "receipt-intake", writes: [Topics.submissions, Topics.lookups], groups: [],
            tails: [Topics.settlements], watches: [submissions, verdicts]),
        TopicUse(
            service: "verification-worker", writes: [Topics.lookups, Topics.verdicts, Topics.deadLetters],
            groups: [submissions, lookups], tails: []),
        TopicUse(
            service: "fulfillment",
            writes: [Topics.deliveries, Topics.events, Topics.settlements, Topics.deadLetters], groups: [verdicts],
            tails: []),
        TopicUse(service: "notification", writes: [Topics.deadLetters], groups: [deliveries], tails: []),
    ]

    /// Every group of every service.
    package static var groups: [Group] { all.flatMap(\.groups) }

    /// The group that a tail reader gives as its own and never joins.
    package static func tailGroup(of service: String) -> String { "\(service)-tail" }
}
