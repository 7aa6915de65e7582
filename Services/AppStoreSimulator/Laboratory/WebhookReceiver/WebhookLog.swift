import Foundation

/// Appends accepted webhooks to a file, and counts everything that came.
actor WebhookLog {
    /// What came so far.
    struct Counts: Codable, Sendable {
        /// Accepted, duplicates too.
        var accepted = 0
        /// How many different events those were.
        var distinctEventIds = 0
        /// Turned away on purpose.
        var failedOnPurpose = 0
        /// Turned away because the signature, its time or a header was not right.
        var badSignatures = 0
    }

    private let file: FileHandle
    private var counts = Counts()
    private var eventIds: Set<String> = []

    /// Opens the file for appending, or makes it.
    ///
    /// - Throws: `ToolFailure`.
    init(path: String) throws {
        let isThere = FileManager.default.fileExists(atPath: path)
        guard isThere || FileManager.default.createFile(atPath: path, contents: nil),
            let file = FileHandle(forWritingAtPath: path), (try? file.seekToEnd()) != nil
        else { throw ToolFailure("\(path) cannot be written") }
        self.file = file
    }

    /// Writes one line.
    ///
    /// - Throws: whatever keeps it from being written; the webhook is then not to be acknowledged.
    func append(_ webhook: ReceivedWebhook) throws {
        try file.write(contentsOf: try webhook.line())
        counts.accepted += 1
        eventIds.insert(webhook.eventId)
        counts.distinctEventIds = eventIds.count
    }

    func noteFailureOnPurpose() { counts.failedOnPurpose += 1 }
    func noteBadSignature() { counts.badSignatures += 1 }
    func snapshot() -> Counts { counts }
}
