public import Foundation

/// Renewal dates that are extended, without anybody paying.
extension AppStoreServerClient {
    /// Extend a Subscription Renewal Date.
    public func extendRenewalDate(
        of originalTransactionId: String, _ request: ExtendRenewalDateRequest, in environment: AppStoreEnvironment
    ) async throws -> ExtendRenewalDateResponse {
        let id = try PathPart.identifier(originalTransactionId, .invalidOriginalTransactionId)
        try request.check()
        return try await value(APICall(.put, "v1", "subscriptions", "extend", id).json(request), in: environment)
    }

    /// Extend Subscription Renewal Dates for All Active Subscribers; what becomes of it, ``massExtensionStatus(_:of:in:)`` says.
    public func extendRenewalDates(
        _ request: MassExtendRenewalDateRequest, in environment: AppStoreEnvironment
    ) async throws -> MassExtendRenewalDateResponse {
        try request.check()
        return try await value(APICall(.post, "v1", "subscriptions", "extend", "mass").json(request), in: environment)
    }

    /// Get Status of Subscription Renewal Date Extensions.
    public func massExtensionStatus(
        _ requestIdentifier: String, of productId: String, in environment: AppStoreEnvironment
    ) async throws -> MassExtendRenewalDateStatusResponse {
        let product = try PathPart.name(productId, .invalidProductId, "productId")
        let request = try PathPart.name(requestIdentifier, .invalidRequestIdentifier, "requestIdentifier")
        return try await value(
            APICall(.get, "v1", "subscriptions", "extend", "mass", product, request), in: environment)
    }
}

/// What Apple asks of every extension (ADP, ExtendRenewalDateRequest).
enum ExtensionRules {
    enum Limit {
        /// Days of one extension.
        static let days = 1...90
        /// Characters of a request's identifier.
        static let identifier = 1...128
    }

    /// Checks what both requests have.
    ///
    /// - Throws: ``AppStoreServerError`` with 4000009, 4000011.
    static func check(days: Int, requestIdentifier: String) throws {
        guard Limit.days.contains(days) else {
            throw AppStoreServerError.refused(.invalidExtendByDays, "extendByDays: 1 to 90")
        }
        guard Limit.identifier.contains(requestIdentifier.count) else {
            throw AppStoreServerError.refused(.invalidRequestIdentifier, "requestIdentifier: 1 to 128 characters")
        }
    }
}

/// By how much one subscription is extended, and why.
public struct ExtendRenewalDateRequest: Encodable, Sendable, Hashable {
    /// 1 to 90.
    public var extendByDays: Int
    /// Why.
    public var extendReasonCode: ExtendReasonCode
    /// The caller's name for the request; up to 128 characters, best a UUID.
    ///
    /// Apple does not say that the same again changes nothing.
    public var requestIdentifier: String

    /// Takes the fields.
    public init(extendByDays: Int, extendReasonCode: ExtendReasonCode, requestIdentifier: String) {
        self.extendByDays = extendByDays
        self.extendReasonCode = extendReasonCode
        self.requestIdentifier = requestIdentifier
    }

    func check() throws {
        try ExtensionRules.check(days: extendByDays, requestIdentifier: requestIdentifier)
    }
}

/// What became of an extension.
public struct ExtendRenewalDateResponse: Decodable, Sendable, Hashable {
    /// Whether it was extended.
    public let success: Bool
    /// Which subscription.
    public let originalTransactionId: String?
    /// Which of its renewals.
    public let webOrderLineItemId: String?
    /// When it renews now.
    public let effectiveDate: Date?
}

/// By how much all subscribers of a product are extended, and why.
public struct MassExtendRenewalDateRequest: Encodable, Sendable, Hashable {
    /// 1 to 90.
    public var extendByDays: Int
    /// Why.
    public var extendReasonCode: ExtendReasonCode
    /// The caller's name for the request; up to 128 characters, best a UUID.
    public var requestIdentifier: String
    /// The subscription.
    public var productId: String
    /// ISO 3166-1 alpha-3, such as `JPN`; all when it is nil, but never none.
    public var storefrontCountryCodes: [String]?

    /// Takes the fields.
    public init(
        extendByDays: Int, extendReasonCode: ExtendReasonCode, requestIdentifier: String, productId: String,
        storefrontCountryCodes: [String]? = nil
    ) {
        self.extendByDays = extendByDays
        self.extendReasonCode = extendReasonCode
        self.requestIdentifier = requestIdentifier
        self.productId = productId
        self.storefrontCountryCodes = storefrontCountryCodes
    }

    func check() throws {
        try ExtensionRules.check(days: extendByDays, requestIdentifier: requestIdentifier)
        guard !productId.isEmpty else {
            throw AppStoreServerError.refused(.invalidProductId, "productId: not empty")
        }
        guard storefrontCountryCodes?.isEmpty != true else {
            throw AppStoreServerError.refused(
                .invalidEmptyStorefrontCountryCodeList, "storefrontCountryCodes: not empty")
        }
    }
}

/// Apple took a mass extension on.
public struct MassExtendRenewalDateResponse: Decodable, Sendable, Hashable {
    /// The request's own.
    public let requestIdentifier: String
}

/// How far a mass extension is.
public struct MassExtendRenewalDateStatusResponse: Decodable, Sendable, Hashable {
    /// The request's own.
    public let requestIdentifier: String?
    /// Whether Apple is through with it.
    public let complete: Bool
    /// Since when.
    public let completeDate: Date?
    /// Subscriptions that were extended.
    public let succeededCount: Int64?
    /// Subscriptions that were not.
    public let failedCount: Int64?
}
