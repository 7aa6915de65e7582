import Foundation
import PurchaseModel

/// Days since a subscription began; a period of these tests is thirty of them, the year four hundred.
func day(_ number: Double) -> Date { Date(timeIntervalSince1970: 1_800_000_000 + number * 86_400) }

/// A period as Apple signs it when it is bought.
func period(
    _ id: String, from: Double, to end: Double, product: String = "basic", signed: Double? = nil
) -> Transaction {
    var transaction = Transaction(
        environment: .production, transactionId: id, originalTransactionId: "1", bundleId: "com.example.game",
        productId: product, productType: .autoRenewable, quantity: 1, purchaseDate: day(from),
        signedDate: day(signed ?? from))
    transaction.expiresDate = day(end)
    transaction.ownership = "PURCHASED"
    return transaction
}

/// What Apple signs about the next renewal.
func renewal(
    signed: Double, _ change: (inout RenewalStatement) -> Void = { _ in }
) -> RenewalStatement {
    var statement = RenewalStatement(
        environment: .production, originalTransactionId: "1", productId: "basic", signedDate: day(signed))
    statement.willRenew = true
    change(&statement)
    return statement
}
