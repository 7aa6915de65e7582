import Logging
import Messages
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime
import Synchronization

/// Notes words and fields of Apple's that this version does not know, and tells of each word once in the log.
final class NoteUnknownWords: Sendable {
    enum Limit {
        /// Words that one process tells of.
        static let told = 1_000
    }

    private struct Key: Hashable {
        let field: String
        let word: String
    }

    private let logger: Logger
    private let told = Mutex<Set<Key>>([])

    init(logger: Logger) {
        self.logger = logger
    }

    /// - Throws: `PostgresError`.
    func note(_ verdicts: [Judged], on connection: PostgresConnection) async throws {
        let words = verdicts.flatMap(Self.words)
        try await UnknownWordStore.note(words, on: connection)
        for word in words where !word.word.isEmpty && !word.isNamed { tell(word) }
    }

    private static func words(of judged: Judged) -> [UnknownWordStore.Noted] {
        var noted: [UnknownWordStore.Noted] = []
        for transaction in judged.transactions {
            for word in Vocabulary.unusual(in: transaction) {
                noted.append(.init(word, app: transaction.bundleId, example: transaction.orderKey))
            }
        }
        for renewal in judged.verdict.renewals {
            let example = OrderKey(environment: renewal.environment, transactionId: renewal.originalTransactionId)
            for word in Vocabulary.unusual(in: renewal) { noted.append(.init(word, app: judged.app, example: example)) }
        }
        guard !judged.unknownFields.isEmpty else { return noted }
        let example =
            judged.transactions.first?.orderKey
            ?? judged.verdict.renewals.first.map {
                OrderKey(environment: $0.environment, transactionId: $0.originalTransactionId)
            }
        guard let example else { return noted }
        return noted
            + judged.unknownFields.map {
                UnknownWordStore.Noted(
                    app: judged.app, field: $0, word: "", isNamed: false, effect: .noted, example: example)
            }
    }

    private func tell(_ word: UnknownWordStore.Noted) {
        let isNew = told.withLock { told in
            told.count < Limit.told && told.insert(Key(field: word.field, word: word.word)).inserted
        }
        guard isNew else { return }
        logger.warning(
            "Apple signs a word that this version does not know: \(word.field) \(word.word), which \(word.effect.sentence)",
            metadata: .fields([.app: "\(word.app)"]))
    }
}

extension UnknownWordStore.Noted {
    fileprivate init(_ word: Vocabulary.Word, app: String, example: OrderKey) {
        self.init(
            app: app, field: word.field, word: word.text, isNamed: word.isNamed, effect: word.effect, example: example)
    }
}

extension Vocabulary.Effect {
    fileprivate var sentence: String {
        switch self {
        case .holds: "holds the order"
        case .revokes: "revokes as a refund does"
        case .noted: "holds nothing"
        }
    }
}
