import Kafka
import Logging
import Messages

/// Reads the tail of `countersign.settlements` and tells the requests that wait here of their outcome.
struct SettlementListener: Sendable {
    private static let typeHeader = "ce_type"
    private static let subjectHeader = "ce_subject"

    let waiters: OutcomeWaiters
    let logger: Logger

    /// Looks at records; those that concern nobody here are passed over before their content is read.
    func handle(_ records: [KafkaRecord]) {
        guard waiters.count > 0 else { return }
        for record in records where Self.text(Self.typeHeader, of: record) == SettlementMessage.type {
            // The subject spares decoding what another process's caller waits for.
            if let subject = Self.text(Self.subjectHeader, of: record), !waiters.isAwaited(subject) { continue }
            guard let value = record.value else { continue }
            do {
                let message = try MessageCoding.decode(SettlementMessage.self, from: value)
                waiters.resolve(message.submissionId, with: message.outcome)
            } catch {
                // Only a hint is lost: the waiting request looks into the database.
                logger.debug(
                    "a settlement cannot be read",
                    metadata: ["partition": "\(record.partition)", "offset": "\(record.offset)"])
            }
        }
    }

    private static func text(_ name: String, of record: KafkaRecord) -> String? {
        record.headers.first { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
    }
}
