import Messages
import Persistence
import Postgres
import PurchaseModel

/// Freezes what a child's account may use when a guardian withdrew consent.
struct RescindConsents: Sendable {
    /// That a purchase is of a customer whose consent is withdrawn, under a name that was not known to be his.
    ///
    /// Such a consent is taken up as one that comes: alone with all entitlements.
    struct MustTakeUp: Error {}

    /// Writes; a consent that is known, or older than what is known, changes nothing.
    ///
    /// - Parameter takesUp: whether the transaction takes up consents.
    /// - Returns: what is to be told.
    /// - Throws: `PostgresError`; ``MustTakeUp`` where it has to be run again so.
    func rescind(
        _ judged: [Judged], _ decided: Decided, of loaded: Loaded, takesUp: Bool, on connection: PostgresConnection
    ) async throws -> [EventDraft] {
        var causes: [ConsentStore.Name: String] = [:]
        var withdrawals: [ConsentStore.Withdrawal] = []
        for judged in judged {
            for consent in judged.verdict.rescindedConsents {
                let withdrawal = ConsentStore.Withdrawal(consent)
                withdrawals.append(withdrawal)
                causes[withdrawal.name] = causes[withdrawal.name] ?? judged.verdict.correlationId
            }
        }
        var customers: Set<ConsentStore.CustomerNames> = []
        for (names, correlationId) in Self.customers(decided, loaded) {
            customers.insert(names)
            for name in names.names { causes[name] = causes[name] ?? correlationId }
        }
        let following = try await ConsentStore.following(customers, on: connection)
        guard takesUp || following.isEmpty else { throw MustTakeUp() }
        withdrawals += following
        guard !withdrawals.isEmpty else { return [] }
        return try await ConsentStore.rescind(withdrawals, on: connection).map { frozen in
            let cause = frozen.names.names.sorted().lazy.compactMap { causes[$0] }.first ?? causes[withdrawals[0].name]
            return EventDraft(frozen, correlationId: cause ?? "")
        }
    }

    /// The customers of whom the batch tells something new.
    private static func customers(
        _ decided: Decided, _ loaded: Loaded
    ) -> [(names: ConsentStore.CustomerNames, correlationId: String)] {
        var customers: [(names: ConsentStore.CustomerNames, correlationId: String)] = []
        for transition in decided.transitions {
            let names = ConsentStore.CustomerNames(of: transition.transaction, in: transition.lineage)
            if let before = transition.before, let known = before.purchase?.transaction,
                names == ConsentStore.CustomerNames(of: known, in: before.lineage)
            {
                continue
            }
            customers.append((names, transition.correlationId))
        }
        for made in loaded.joins {
            customers.append((ConsentStore.CustomerNames(of: made.join), made.correlationId))
        }
        return customers
    }
}

extension ConsentStore.Frozen {
    /// The names of the customer whose it was.
    fileprivate var names: ConsentStore.CustomerNames {
        ConsentStore.CustomerNames(
            of: transaction,
            in: LineageKey(
                environment: customer.environment, originalTransactionId: transaction.originalTransactionId))
    }
}

extension EventDraft {
    /// That an order's entitlements were frozen.
    init(_ frozen: ConsentStore.Frozen, correlationId: String) {
        self.init(
            type: PurchaseEvent.consentRescinded, environment: frozen.customer.environment, app: frozen.customer.app,
            account: frozen.customer.account, correlationId: correlationId,
            payload: PurchaseEvent.Payload(
                transaction: frozen.transaction, state: frozen.state, entitlements: frozen.entitlements.sorted()))
    }
}
