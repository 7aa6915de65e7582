import ArgumentParser
import Persistence
import Postgres
import PurchaseModel

/// `countersign orders owners`: whose a lineage is and ever was.
struct OrdersOwnersCommand: DatabaseLook {
    static let configuration = CommandConfiguration(
        commandName: "owners",
        abstract: "Shows the owners of a purchase over time: every account, since when, and why.",
        discussion: "For subscriptions and non-consumables. For a consumable use `countersign inspect`.")

    @Argument(help: "production or sandbox.") var environment: StoreEnvironment
    @Argument(help: "Any transaction id of any order of the lineage.") var transaction: String
    @OptionGroup var printing: PrintingOptions

    func look(_ pool: PostgresPool) async throws -> OwnershipStore.Lineage {
        let store = OwnershipStore(pool: pool)
        guard let lineage = try await store.lineage(environment: environment, transactionId: transaction) else {
            throw ToolFailure(
                "\(transaction) belongs to no lineage in \(environment.rawValue): it is unknown, or a consumable")
        }
        return lineage
    }

    /// The history as a person reads it.
    func text(_ lineage: OwnershipStore.Lineage) -> String {
        var lines = [
            "\(lineage.environment) \(lineage.originalTransactionId) of \(lineage.app) is "
                + (lineage.account.map { "\($0)'s" } ?? "nobody's") + (lineage.cause.map { " (\($0))" } ?? "")
        ]
        if !lineage.sharedWith.isEmpty { lines.append("shared with \(lineage.sharedWith.joined(separator: ", "))") }
        lines += lineage.history.map { binding in
            var causes = [binding.cause]
            if let policy = binding.policy { causes.append("policy \(policy)") }
            if let submission = binding.submissionId { causes.append("submission \(submission)") }
            if let audit = binding.auditId { causes.append("audit \(audit)") }
            return
                "  \(binding.createdAt)  \(binding.from ?? "nobody") → \(binding.to)  \(causes.joined(separator: ", "))"
        }
        return lines.joined(separator: "\n")
    }
}
