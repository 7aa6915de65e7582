import Logging
import Messages
import Metrics
import PurchaseModel
import ServiceRuntime
import Synchronization

/// Counts fields that Apple signs and this version does not know, `countersign_unknown_fields_total{field}`, and logs each
/// name once.
///
/// Never a value: it may be anybody's.
final class UnknownFieldTally: Sendable {
    /// Names that are counted by name; further ones are ``other``.
    static let namesMaximum = 100
    /// Characters of a name.
    static let charactersMaximum = 64

    /// What names beyond the limit are counted as.
    static let other = "other"

    private let logger: Logger
    private let names = Mutex<Set<String>>([])

    init(logger: Logger) {
        self.logger = logger
    }

    /// Counts those of a batch.
    func count(_ judged: [(submission: SubmissionMessage, finding: Finding)]) {
        for entry in judged {
            if case .genuine(let transactions) = entry.finding.verdict {
                for transaction in transactions { count(transaction.unknownFields, of: entry.submission.app) }
            }
            for renewal in entry.finding.renewals { count(renewal.unknownFields, of: entry.submission.app) }
            count(entry.finding.notification?.unknownFields, of: entry.submission.app)
        }
    }

    private func count(_ fields: [String]?, of app: String) {
        for field in fields ?? [] {
            let plain = field.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "_") }
            let name = String(plain.prefix(UnknownFieldTally.charactersMaximum))
            let (label, isNew) = names.withLock { names in
                if names.contains(name) { return (name, false) }
                guard names.count < UnknownFieldTally.namesMaximum else { return (Self.other, false) }
                names.insert(name)
                return (name, true)
            }
            Counter(label: "countersign_unknown_fields_total", dimensions: [("field", label)]).increment()
            guard isNew else { continue }
            logger.warning(
                "Apple signs a field that this version does not know; it decides nothing",
                metadata: .fields([.app: "\(app)", .error: "\(name)"]))
        }
    }
}
