extension Catalogue.Product {
    /// Whether a transaction cost what is expected; nil where nothing is expected, or nothing is said.
    ///
    /// Apple documents `price` as the total of the quantity, and once documented it as the product's: both fit. A price
    /// that does not fit is no forgery (offers, price changes), but worth a look.
    /// Source: developer.apple.com/documentation/appstoreserverapi/price.
    package func isPriceExpected(of transaction: Transaction) -> Bool? {
        guard let price = transaction.priceMilliunits, let currency = transaction.currency,
            let expected = prices[currency]
        else { return nil }
        let (sum, overflow) = expected.multipliedReportingOverflow(by: Int64(transaction.quantity))
        return price == expected || !overflow && price == sum
    }
}
