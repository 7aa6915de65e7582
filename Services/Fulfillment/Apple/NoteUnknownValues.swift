import Logging
import Messages
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime
import Synchronization

/// Notes words and fields of Apple's that this version does not know, and tells of each word once in the log.
final class NoteUnknownValues: Sendable {
    /// Words that one process tells of.
    static let loggedMaximum = 1_000

    private struct Key: Hashable {
        let field: String
        let text: String
    }

    private let logger: Logger
    private let logged = Mutex<Set<Key>>([])

    init(logger: Logger) {
        self.logger = logger
    }

    /// - Throws: `PostgresError`.
    func note(_ verdicts: [Judged], on connection: PostgresConnection) async throws {
        let values = verdicts.flatMap(Self.values)
        try await UnknownValueStore.note(values, on: connection)
        for value in values where !value.text.isEmpty && !value.isNamed { log(value) }
    }

    private static func values(of judged: Judged) -> [UnknownValueStore.Noted] {
        var noted: [UnknownValueStore.Noted] = []
        for transaction in judged.transactions {
            for value in Vocabulary.unusual(in: transaction) {
                noted.append(.init(value, app: transaction.bundleId, example: transaction.orderKey))
            }
        }
        for renewal in judged.verdict.renewals {
            let example = OrderKey(environment: renewal.environment, transactionId: renewal.originalTransactionId)
            for value in Vocabulary.unusual(in: renewal) {
                noted.append(.init(value, app: judged.app, example: example))
            }
        }
        guard let example = example(of: judged) else { return noted }
        let notification = judged.verdict.notification
        for value in Vocabulary.unusual(status: notification?.status, storeType: notification?.storeType) {
            noted.append(.init(value, app: judged.app, example: example))
        }
        return noted
            + judged.unknownFields.map {
                UnknownValueStore.Noted(
                    app: judged.app, field: $0, text: "", isNamed: false, effect: .noted, example: example)
            }
    }

    /// A transaction that it is about; of a notification about none its own UUID stands for one.
    private static func example(of judged: Judged) -> OrderKey? {
        if let transaction = judged.transactions.first { return transaction.orderKey }
        if let renewal = judged.verdict.renewals.first {
            return OrderKey(environment: renewal.environment, transactionId: renewal.originalTransactionId)
        }
        return judged.verdict.notification.map {
            OrderKey(environment: $0.environment ?? .production, transactionId: $0.uuid)
        }
    }

    private func log(_ value: UnknownValueStore.Noted) {
        let isNew = logged.withLock { logged in
            logged.count < NoteUnknownValues.loggedMaximum
                && logged.insert(Key(field: value.field, text: value.text)).inserted
        }
        guard isNew else { return }
        logger.warning(
            """
            Apple signs a word that this version does not know: \(value.field) \(value.text), which \
            \(value.effect.sentence)
            """,
            metadata: .fields([.app: "\(value.app)"]))
    }
}

extension UnknownValueStore.Noted {
    fileprivate init(_ value: Vocabulary.Value, app: String, example: OrderKey) {
        self.init(
            app: app, field: value.field, text: value.text, isNamed: value.isNamed, effect: value.effect,
            example: example)
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
