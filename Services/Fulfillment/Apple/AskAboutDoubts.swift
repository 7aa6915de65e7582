import Persistence
import Postgres
import PurchaseModel

/// Has Apple asked about purchases that a device shows without the revocation that is in force.
///
/// In the batch's transaction, so that no question is lost; once for each statement that says something new. The workers' sweep asks, and
/// what Apple answers otherwise than the books say comes back as a submission of no account: Apple's server's word.
struct AskAboutDoubts: Sendable {
    let apps: CurrentApps

    /// - Throws: `PostgresError`.
    func ask(_ decided: Decided, of loaded: Loaded, on connection: PostgresConnection) async throws {
        let revoked = Dictionary(
            decided.transitions.filter { $0.state == .revoked && apps.canBeAsked($0.transaction.bundleId) }
                .map { ($0.key, $0) }
        ) { first, _ in first }
        guard !revoked.isEmpty else { return }
        let doubted = loaded.purchases.filter { purchase in
            guard let transition = revoked[purchase.key] else { return false }
            return purchase.statements.contains { transition.purchase.isRevocationDoubted(by: $0.transaction) }
        }
        try await SweepTaskStore.askAboutDoubts(of: doubted.map(\.key).sorted(), on: connection)
    }
}
