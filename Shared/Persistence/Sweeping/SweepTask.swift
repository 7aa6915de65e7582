package import Foundation
import Postgres
package import PurchaseModel

/// One question to Apple that is asked again and again, as it was claimed.
package struct SweepTask: Sendable, Hashable {
    /// What is asked.
    package enum Kind: String, Sendable, Hashable, CaseIterable, PostgresEncodable, PostgresDecodable {
        /// Get Notification History of an app: everything that Apple sent in a window of time.
        case notifications
        /// The same, of a longer window: only what Apple could not deliver.
        case failures
        /// Get Transaction History of a customer: what changed since the last time.
        case history
        /// Get Refund History of a customer.
        case refunds
        /// Get All Subscription Statuses of a customer.
        case statuses
        /// Look Up Order ID: the purchases of an order of Apple's e-mail, asked when a person wants it.
        case order
        /// No question: looks through the orders for customers that are not asked about yet.
        case walk
        /// No question: looks for what is likely lost.
        case plan

        /// Whose turn comes first when nothing makes it urgent; 0 is a person's.
        package var priority: Int16 {
            switch self {
            case .plan, .walk: 1
            case .notifications, .failures: 2
            case .statuses, .history, .order: 6
            case .refunds: 7
            }
        }

        /// Whether it is asked about one customer, or one order of his.
        package var isOfCustomer: Bool { [.history, .refunds, .statuses, .order].contains(self) }
    }

    /// Why it is asked now.
    package enum Cause: String, Sendable, Hashable, CaseIterable, PostgresEncodable, PostgresDecodable {
        /// Its time has come.
        case schedule
        /// An intent was opened, and nothing was bought with it.
        case intent
        /// An order is parked, and nobody has claimed it.
        case unclaimed
        /// A period ends, or has ended without a word of Apple's.
        case lapse
        /// A device showed no refund of what Apple had told was refunded.
        case doubt
        /// A person or a backend asked, for an account that wrote to support.
        case request
        /// The database was restored.
        case reconcile

        /// Whose turn comes first.
        package var priority: Int16 {
            switch self {
            case .request: 0
            // Behind those who wrote to support: it may take hours.
            case .reconcile: 1
            case .intent, .doubt: 3
            case .unclaimed: 4
            case .lapse: 5
            case .schedule: 6
            }
        }
    }

    package let id: Int64
    package let kind: Kind
    /// The bundle id; empty where nothing is asked.
    package let app: String
    /// Nil where nothing is asked.
    package let environment: StoreEnvironment?
    /// Which customer: `a:` and Apple's id of him in the app, `t:` and a lineage, or `o:` and a transaction; `m:` and the order
    /// id of Apple's e-mail; empty for an app.
    package let customer: String
    /// A transaction id of the customer, or the order id.
    package let subject: String
    package let cause: Cause
    /// The number of the claim: who has an older one writes nothing.
    package let lease: Int32
    /// Rounds that failed in a row.
    package var failures: Int
    /// How often the page to come had what does not verify.
    package var mismatches: Int
    /// The last good point: everything before it was compared, or planned for.
    package let coveredUntil: Date?
    /// The window of the round under way; nil where none is.
    package let window: Range<Date>?
    /// Where the round under way goes on.
    package let page: String?
    /// Apple's mark of what was read of a customer; of an order its transaction ids, with commas.
    package let revision: String?
    /// The reconciliation that waits for it; nil for none.
    package let run: Int64?

    /// A customer as a key of tasks, in SQL, of a row of `orders`: Apple's own id of him in the app; where Apple's data lacks it,
    /// a lineage, or for what has none the one transaction.
    static let customerSQL: SQL = """
        CASE WHEN o.app_transaction_id IS NOT NULL THEN 'a:' || o.app_transaction_id
            WHEN o.product_type = 'consumable' THEN 'o:' || o.transaction_id ELSE 't:' || o.original_transaction_id END
        """

    /// Whether an order `o` is an order `asked`, or has another id of Apple's for the customer of its lineage, in SQL.
    static let isOfCustomer: SQL = """
        o.environment = asked.environment AND o.original_transaction_id = asked.original_transaction_id AND o.app = asked.app
            AND (o.transaction_id = asked.transaction_id OR o.app_transaction_id <> asked.app_transaction_id
                AND o.product_type <> 'consumable' AND asked.product_type <> 'consumable')
        """

    /// Whether it is asked once and not again: a consumable of a customer whom Apple's data does not name.
    ///
    /// His next purchase asks again.
    package var isOnce: Bool { customer.hasPrefix("o:") }
}
