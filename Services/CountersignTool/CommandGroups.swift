import ArgumentParser

/// `countersign orders`: whose a purchase is.
struct OrdersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "orders", abstract: "Assigns a parked order to an account, and shows a purchase's owners.",
        subcommands: [OrdersAssignCommand.self, OrdersOwnersCommand.self])
}

/// `countersign submissions`: what apps and backends posted.
struct SubmissionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submissions", abstract: "Judges rejected or parked submissions again.",
        subcommands: [SubmissionsRetryCommand.self])
}

/// `countersign books`: whether the tables agree.
struct BooksCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "books", abstract: "Checks that orders, owners, ledger, subscriptions and events agree.",
        subcommands: [BooksCheckCommand.self])
}

/// `countersign kafka`: what the broker has.
struct KafkaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kafka", abstract: "Prints the submissions that Kafka still has.",
        subcommands: [KafkaDumpCommand.self])
}
