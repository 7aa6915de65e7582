package import Logging

/// The names of log fields, so that one thing has one name in every process.
package enum LogKey: String, Sendable, CaseIterable {
    /// Id of a submission.
    case submission
    /// Bundle identifier of the app.
    case app
    /// The app's own account id.
    case account
    /// Name and fingerprint of a server API key; never the key.
    case apiKey = "api_key"
    /// Who of the studio's people: the name that intake's `audit_log` has.
    case person
    /// What that person is in the console: viewer, support, operator, admin.
    case role
    /// Apple's transaction id.
    case transaction
    /// Apple's original transaction id.
    case originalTransaction = "original_transaction"
    /// Apple's environment: Production or Sandbox.
    case environment
    /// Product identifier.
    case product
    /// Id of an event of ours.
    case event
    /// Id of a webhook message.
    case message = "webhook_message"
    /// Name of a webhook endpoint.
    case endpoint
    /// SHA-256 fingerprint of a root certificate.
    case root
    /// Short machine-readable cause.
    case reason
    /// Name of a Kafka topic.
    case topic
    /// Number of a Kafka partition.
    case partition
    /// Offset in a Kafka partition.
    case offset
    /// Name of a Kafka consumer group.
    case group
    /// How many.
    case count
    /// A safe description of an error.
    case error
    /// The id that ties a request, its answer and its log lines together.
    case correlation
    /// Number of the attempt, from 1.
    case attempt
    /// How long something took, in seconds.
    case duration
    /// How long until something is tried again, in seconds.
    case delay
    /// Name of a long-running part of the process.
    case component
    /// HTTP status.
    case status
    /// HTTP method.
    case method
    /// HTTP path, without the query.
    case path
    /// Host that something listens on or connects to.
    case host
    /// Port that something listens on or connects to.
    case port
    /// Version of the program.
    case version
}

extension Logger {
    /// The field of that name that this logger adds to every line.
    package subscript(_ key: LogKey) -> Logger.MetadataValue? {
        get { self[metadataKey: key.rawValue] }
        set { self[metadataKey: key.rawValue] = newValue }
    }

    /// A copy of this logger that adds one more field to every line.
    package func with(_ key: LogKey, _ value: Logger.MetadataValue) -> Logger {
        var copy = self
        copy[key] = value
        return copy
    }
}

extension [String: Logger.MetadataValue] {
    /// Fields of one log line; a later duplicate wins.
    ///
    /// `logger.info("done", metadata: .fields([.count: "3"]))`
    package static func fields(_ pairs: KeyValuePairs<LogKey, Logger.MetadataValue>) -> Logger.Metadata {
        var metadata: Logger.Metadata = [:]
        for (key, value) in pairs { metadata[key.rawValue] = value }
        return metadata
    }
}
