package import Foundation
package import PurchaseModel

/// "This submission has an outcome": lets the intake process that holds the caller's request answer it at once.
///
/// It is a hint and not kept anywhere: where it is lost, the caller's wait ends with a look into the database.
package struct SettlementMessage: Codable, Sendable, Hashable {
    /// The type in `ce_type`.
    package static let type = "countersign.submission.settled.v1"

    /// The submission.
    package var submissionId: String
    /// What became of it.
    package var outcome: SubmissionOutcome

    /// Makes a message.
    package init(submissionId: String, outcome: SubmissionOutcome) {
        self.submissionId = submissionId
        self.outcome = outcome
    }

    enum CodingKeys: String, CodingKey {
        case outcome
        case submissionId = "submission_id"
    }
}

/// What became of a submission, as the app is told: kept with the submission, and sent in answers.
package struct SubmissionOutcome: Codable, Sendable, Hashable {
    /// Where it stands.
    package var state: SubmissionState
    /// True when the app may finish the transaction with StoreKit: its outcome is recorded and cannot be lost.
    package var finish: Bool
    /// Why it was refused or parked.
    package var reason: ReasonCode?
    /// A sentence for a developer.
    package var detail: String?
    /// Each transaction of the proof.
    package var transactions: [TransactionOutcome]

    /// Makes an outcome.
    package init(
        state: SubmissionState, finish: Bool, reason: ReasonCode? = nil, detail: String? = nil,
        transactions: [TransactionOutcome] = []
    ) {
        self.state = state
        self.finish = finish
        self.reason = reason
        self.detail = detail
        self.transactions = transactions
    }
}

/// What became of one transaction of a submission.
package struct TransactionOutcome: Codable, Sendable, Hashable {
    /// Apple's id.
    package var transactionId: String
    /// The id of the first transaction of its lineage.
    package var originalTransactionId: String
    /// The store that sold it.
    package var store = Store.appStore
    /// Production or sandbox; nil where Apple's data names none.
    package var environment: StoreEnvironment?
    /// The product's id.
    package var productId: String
    /// When it was bought.
    package var purchaseDate: Date
    /// When a subscription's paid period ends.
    package var expiresDate: Date?
    /// How many were bought.
    package var quantity: Int
    /// The order's state; nil where there is no order.
    package var state: OrderState?
    /// Why it is not granted to the caller.
    package var reason: ReasonCode?
    /// That no money was paid although it is granted, and why it was bought; nil for everything else.
    package var testPurchase: TestPurchase?

    /// Makes an outcome for a transaction.
    package init(_ transaction: Transaction, state: OrderState?, reason: ReasonCode?) {
        transactionId = transaction.transactionId
        originalTransactionId = transaction.originalTransactionId
        environment = transaction.environment
        productId = transaction.productId
        purchaseDate = transaction.purchaseDate
        expiresDate = transaction.expiresDate
        quantity = transaction.quantity
        testPurchase = transaction.testPurchase
        self.state = state
        self.reason = reason
    }

    enum CodingKeys: String, CodingKey {
        case store, environment, quantity, state, reason
        case transactionId = "transaction_id"
        case originalTransactionId = "original_transaction_id"
        case productId = "product_id"
        case purchaseDate = "purchased_at"
        case expiresDate = "expires_at"
        case testPurchase = "test_purchase"
    }
}
