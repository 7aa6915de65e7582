public import Foundation

/// Which transactions a history has; what is left out filters nothing (ADP, Get Transaction History).
public struct HistoryQuery: Sendable, Hashable {
    /// The earliest purchase, inclusive; cut down to milliseconds.
    public var startDate: Date?
    /// The latest purchase, exclusive.
    public var endDate: Date?
    /// Only these products.
    public var productIds: [String]
    /// Only these types of products.
    public var productTypes: [HistoryProductType]
    /// Only these groups of subscriptions.
    public var subscriptionGroupIdentifiers: [String]
    /// Only what was bought, or only what the family shared.
    public var inAppOwnershipType: InAppOwnershipType?
    /// Only what was taken back, or only what was not.
    public var revoked: Bool?
    /// By the last change; ascending when it is left out.
    public var sort: HistoryOrder?

    /// Takes the filters.
    public init(
        startDate: Date? = nil, endDate: Date? = nil, productIds: [String] = [],
        productTypes: [HistoryProductType] = [], subscriptionGroupIdentifiers: [String] = [],
        inAppOwnershipType: InAppOwnershipType? = nil, revoked: Bool? = nil, sort: HistoryOrder? = nil
    ) {
        self.startDate = startDate
        self.endDate = endDate
        self.productIds = productIds
        self.productTypes = productTypes
        self.subscriptionGroupIdentifiers = subscriptionGroupIdentifiers
        self.inAppOwnershipType = inAppOwnershipType
        self.revoked = revoked
        self.sort = sort
    }

    /// As a URL's query has them.
    ///
    /// - Throws: ``AppStoreServerError`` with 4000013, 4000015, 4000016.
    func parameters() throws -> [(name: String, value: String?)] {
        let start = try startDate.map { try AppStoreInstant.milliseconds($0, .invalidStartDate) }
        let end = try endDate.map { try AppStoreInstant.milliseconds($0, .invalidEndDate) }
        if let start, let end, start >= end {
            throw AppStoreServerError.refused(.startDateAfterEndDate, "startDate: before endDate")
        }
        var parameters: [(name: String, value: String?)] = []
        parameters.append(("startDate", start.map { String($0) }))
        parameters.append(("endDate", end.map { String($0) }))
        for id in productIds { parameters.append(("productId", id)) }
        for type in productTypes { parameters.append(("productType", type.rawValue)) }
        parameters.append(("sort", sort?.rawValue))
        for group in subscriptionGroupIdentifiers { parameters.append(("subscriptionGroupIdentifier", group)) }
        parameters.append(("inAppOwnershipType", inAppOwnershipType?.rawValue))
        parameters.append(("revoked", revoked.map { $0 ? "true" : "false" }))
        return parameters
    }
}

/// Instants as Apple's requests have them.
enum AppStoreInstant {
    enum Limit {
        /// The latest: the year 9999, in seconds since 1970.
        static let seconds = 253_402_300_799.0
    }

    /// Milliseconds since 1970.
    ///
    /// - Throws: ``AppStoreServerError`` with the code, for an instant before 1970 or after 9999.
    static func milliseconds(_ date: Date, _ code: AppStoreServerError.Code) throws -> Int64 {
        let seconds = date.timeIntervalSince1970
        guard (0...Limit.seconds).contains(seconds) else {
            throw AppStoreServerError.refused(code, "an instant from 1970 to 9999")
        }
        // A date is binary: what was a whole millisecond must be one again.
        return Int64((seconds * 1_000).rounded())
    }
}
