import PurchaseModel
import ServiceRuntime

/// Keeps purchases that nobody paid for apart from those that somebody did: the one place where that is decided.
///
/// Every source passes through it: signed transactions, receipts, verifyReceipt, the App Store Server API. The
/// environment is the one that was *proved*, by a signature or by the host that answered; what the app says it was built
/// for (`expected`) only tells why a sandbox purchase was made.
enum EnvironmentFirewall {
    /// The verdict about transactions that were proved.
    ///
    /// - Parameters:
    ///   - proved: the environment of the whole proof, also of one without transactions; nil where Apple states none.
    ///   - expected: what the app was built for, by its own word.
    static func pass(
        _ transactions: [Transaction], proved: StoreEnvironment?, policy: AppsFile.SandboxPolicy,
        expected: StoreEnvironment?
    ) -> Verdict {
        let isSandbox = proved == .sandbox || transactions.contains { $0.environment == .sandbox }
        guard isSandbox else { return .genuine(transactions.map { marked($0, nil) }) }
        guard policy != .refuse else {
            return .rejected(.sandboxRefused, detail: "the app is configured to refuse sandbox purchases")
        }
        let mark = mark(policy: policy, expected: expected)
        return .genuine(transactions.map { marked($0, $0.environment == .sandbox ? mark : nil) })
    }

    /// Why a sandbox purchase was made.
    private static func mark(policy: AppsFile.SandboxPolicy, expected: StoreEnvironment?) -> TestPurchase? {
        // A build for the App Store buys in the sandbox when App Review tries it, whatever the app thinks of tests.
        if expected == .production { return .appReview }
        return policy == .test ? .sandbox : nil
    }

    private static func marked(_ transaction: Transaction, _ mark: TestPurchase?) -> Transaction {
        var transaction = transaction
        transaction.testPurchase = mark
        return transaction
    }
}
