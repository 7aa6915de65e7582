import Hummingbird

/// What Get Transaction History is asked for, checked.
struct HistoryQuery: Sendable {
    enum Limit {
        /// Product ids, and subscription groups, of one request.
        static let values = 100
        /// Characters of one of them.
        static let length = 255
    }

    let revision: RevisionToken?
    /// Of the purchase date, inclusive; milliseconds since 1970.
    let startDate: Int64?
    /// Exclusive.
    let endDate: Int64?
    let productIds: Set<String>
    let productTypes: Set<ProductType>
    let subscriptionGroupIdentifiers: Set<String>
    let isFamilyShared: Bool?
    let isRevoked: Bool?
    let isDescending: Bool

    /// Reads a query.
    ///
    /// - Throws: the ``APIError`` of the first parameter that is wrong.
    init(_ parameters: Parameters) throws(APIError) {
        revision = if let text = parameters.get("revision") { try RevisionToken(text) } else { nil }
        startDate = try Self.date(parameters.get("startDate"), .invalidStartDate)
        endDate = try Self.date(parameters.get("endDate"), .invalidEndDate)
        if let startDate, let endDate, startDate >= endDate { throw .startDateAfterEndDate }
        productIds = try Self.identifiers(parameters.getAll("productId"), .invalidProductId)
        subscriptionGroupIdentifiers = try Self.identifiers(
            parameters.getAll("subscriptionGroupIdentifier"), .invalidSubscriptionGroupIdentifier)
        productTypes = try Self.productTypes(parameters.getAll("productType"))
        isFamilyShared =
            switch parameters.get("inAppOwnershipType") {
            case nil: nil
            case "PURCHASED": false
            case "FAMILY_SHARED": true
            default: throw .invalidInAppOwnershipType
            }
        isDescending =
            switch parameters.get("sort") {
            case nil, "ASCENDING": false
            case "DESCENDING": true
            default: throw .invalidSort
            }
        isRevoked = try Self.flag(parameters.get("revoked"), .invalidRevoked)
    }

    /// Whether a transaction is asked for.
    func matches(_ transaction: TransactionRecord) -> Bool {
        if let revision,
            isDescending ? transaction.revision >= revision.revision : transaction.revision <= revision.revision
        {
            return false
        }
        if let startDate, transaction.purchaseDate < startDate { return false }
        if let endDate, transaction.purchaseDate >= endDate { return false }
        if !productIds.isEmpty, !productIds.contains(transaction.productId) { return false }
        if !productTypes.isEmpty, !productTypes.contains(transaction.type) { return false }
        if !subscriptionGroupIdentifiers.isEmpty,
            !subscriptionGroupIdentifiers.contains(transaction.subscriptionGroupIdentifier ?? "")
        {
            return false
        }
        if let isFamilyShared, transaction.isFamilyShared != isFamilyShared { return false }
        return isRevoked.map { $0 == (transaction.revocationDate != nil) } ?? true
    }

    private static func date(_ text: String?, _ error: APIError) throws(APIError) -> Int64? {
        guard let text else { return nil }
        guard let date = Int64(text), date >= 0 else { throw error }
        return date
    }

    private static func identifiers(_ texts: [String], _ error: APIError) throws(APIError) -> Set<String> {
        guard texts.count <= Limit.values, texts.allSatisfy({ (1...Limit.length).contains($0.utf8.count) }) else {
            throw error
        }
        return Set(texts)
    }

    private static func productTypes(_ texts: [String]) throws(APIError) -> Set<ProductType> {
        let names: [String: ProductType] = [
            "AUTO_RENEWABLE": .autoRenewableSubscription, "NON_RENEWABLE": .nonRenewingSubscription,
            "CONSUMABLE": .consumable, "NON_CONSUMABLE": .nonConsumable,
        ]
        let types = texts.compactMap { names[$0] }
        guard types.count == texts.count else { throw .invalidProductType }
        return Set(types)
    }

    /// Apple's Python library writes `True`.
    private static func flag(_ text: String?, _ error: APIError) throws(APIError) -> Bool? {
        switch text?.lowercased() {
        case nil: return nil
        case "true": return true
        case "false": return false
        default: throw error
        }
    }
}
