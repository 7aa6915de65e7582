package import Foundation
import Postgres
package import PurchaseModel

extension AccountStore {
    /// The most transactions of one page.
    package static let pageMaximum = 100

    /// Where a page of transactions ends: the last row's time and id.
    package struct Position: Sendable, Hashable {
        /// When the order was written, in microseconds since 1970: as exact as the database keeps it.
        package let microseconds: Int64
        /// The order's transaction id, since several are written at one time.
        package let transactionId: String

        /// Names a place between two rows.
        package init(microseconds: Int64, transactionId: String) {
            self.microseconds = microseconds
            self.transactionId = transactionId
        }
    }

    /// One of an account's orders.
    package struct Transaction: Sendable {
        /// Production or sandbox.
        package let environment: StoreEnvironment
        /// The order's own id: Apple's transaction id under which it was recorded first.
        package let transactionId: String
        /// The id of the first transaction of its lineage.
        package let originalTransactionId: String
        /// The product's id.
        package let productId: String
        /// The product's type, see `ProductType`.
        package let productType: String
        /// How many were bought.
        package let quantity: Int
        /// How the order stands.
        package let state: OrderState
        /// Why it is not granted.
        package let reason: ReasonCode?
        /// When it was bought.
        package let purchaseDate: Date
        /// When a subscription's paid period ends, by Apple.
        package let expiresDate: Date?
        /// When Apple took it back.
        package let revocationDate: Date?
        /// `REFUND_FULL`, `REFUND_PRORATED` or `FAMILY_REVOKE`, as Apple wrote it.
        package let revocationType: String?
        /// How much of the price was refunded, in thousandths of a per cent.
        package let revocationPercentage: Int64?
        /// When Countersign heard of the revocation, and acted.
        package let revokedAt: Date?
        /// `PURCHASED` or `FAMILY_SHARED`, as Apple wrote it.
        package let ownership: String?
        /// Thousandths of the currency's unit.
        package let priceMilliunits: Int64?
        /// ISO 4217.
        package let currency: String?
        /// The storefront's country.
        package let storefront: String?
        /// That no money was paid, and why it was bought.
        package let testPurchase: String?
        /// When it was written down here.
        package let recordedAt: Date
        /// When it was granted.
        package let grantedAt: Date?
        /// Whether an older system granted it, as far as anybody has it.
        package let isGrantedElsewhere: Bool

        /// The columns that ``init(_:)`` reads.
        static let columns: SQL = """
            environment, transaction_id, original_transaction_id, product_id, product_type, quantity, state, reason, purchase_date,
            expires_date, revocation_date, revocation_type, revocation_percentage, revoked_at, ownership,
            price_milliunits, currency, storefront, test_purchase, created_at, granted_at, granted_elsewhere
            """

        init(_ row: PostgresRow) throws {
            environment = try row.environment()
            transactionId = try row.decode("transaction_id")
            originalTransactionId = try row.decode("original_transaction_id")
            productId = try row.decode("product_id")
            productType = try row.decode("product_type")
            quantity = Int(try row.decode("quantity", as: Int32.self))
            state = try row.orderState()
            reason = try row.decodeIfPresent("reason", as: String.self).map(ReasonCode.init)
            purchaseDate = try row.decode("purchase_date")
            expiresDate = try row.decodeIfPresent("expires_date")
            revocationDate = try row.decodeIfPresent("revocation_date")
            revocationType = try row.decodeIfPresent("revocation_type")
            revocationPercentage = try row.decodeIfPresent("revocation_percentage")
            revokedAt = try row.decodeIfPresent("revoked_at")
            ownership = try row.decodeIfPresent("ownership")
            priceMilliunits = try row.decodeIfPresent("price_milliunits")
            currency = try row.decodeIfPresent("currency")
            storefront = try row.decodeIfPresent("storefront")
            testPurchase = try row.decodeIfPresent("test_purchase")
            recordedAt = try row.decode("created_at")
            grantedAt = try row.decodeIfPresent("granted_at")
            isGrantedElsewhere = try row.decode("granted_elsewhere")
        }
    }

    /// Some of an account's transactions, and where to go on.
    package struct TransactionPage: Sendable {
        /// The newest first.
        package let transactions: [Transaction]
        /// Where the next page begins; nil after the last.
        package let next: Position?
    }

    /// A page of an account's transactions, those that were written down last first.
    ///
    /// What is written while somebody turns the pages is on none of the later ones; nothing comes twice.
    ///
    /// - Parameters:
    ///   - after: the position that the page before ended with; nil for the first page.
    ///   - limit: 1 to `pageMaximum`; anything else is brought there.
    /// - Throws: `PostgresError`.
    package func transactions(
        of customer: Customer, after: Position? = nil, limit: Int
    ) async throws -> TransactionPage {
        let limit = min(max(1, limit), Self.pageMaximum)
        let result = try await pool.query(Self.page(of: customer, after: after, limit: limit + 1))
        let rows = result.rows.prefix(limit)
        let next: Position? =
            if result.rows.count > limit, let last = rows.last {
                Position(
                    microseconds: try last.decode("microseconds"), transactionId: try last.decode("transaction_id"))
            } else {
                nil
            }
        return TransactionPage(transactions: try rows.map(Transaction.init), next: next)
    }

    // One row more than a page tells whether there is another. The order is written only once per transaction id and
    // environment, so time and id are a row's own.
    private static func page(of customer: Customer, after: Position?, limit: Int) -> SQL {
        """
        SELECT \(Transaction.columns), (extract(epoch FROM created_at) * 1000000)::int8 AS microseconds
        FROM orders WHERE \(isOf(customer))
            AND (\(after?.microseconds) IS NULL OR (created_at, transaction_id)
                < (timestamptz 'epoch' + \(after?.microseconds) * interval '1 microsecond', \(after?.transactionId)))
        ORDER BY created_at DESC, transaction_id DESC LIMIT \(limit)
        """
    }
}
