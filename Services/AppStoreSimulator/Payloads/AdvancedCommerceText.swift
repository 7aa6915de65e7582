import Foundation

/// Advanced Commerce information, which is kept once and written in two shapes: Apple's
/// `AdvancedCommerceTransactionInfo` and `AdvancedCommerceRenewalInfo`.
///
/// Each leaves out what only the other has; what neither knows is passed on as it is.
enum AdvancedCommerceText {
    /// What a transaction says, from what is kept of it or of its subscription; JSON.
    static func transaction(_ info: String) -> String {
        without(["consistencyToken"], inItems: ["priceIncreaseInfo"], info)
    }

    /// What a renewal info says, from what is kept of the subscription; JSON.
    static func renewal(_ info: String) -> String {
        without(["estimatedTax", "taxExclusivePrice", "taxRate"], inItems: ["refunds", "revocationDate"], info)
    }

    private static func without(_ names: [String], inItems itemNames: [String], _ info: String) -> String {
        guard var fields = JSONValue(json: Data(info.utf8))?.map else { return info }
        for name in names { fields[name] = nil }
        if let items = fields["items"]?.list {
            fields["items"] = .list(
                items.map { item in
                    guard var fields = item.map else { return item }
                    for name in itemNames { fields[name] = nil }
                    return .map(fields)
                })
        }
        return JSONValue.map(fields).json
    }
}
