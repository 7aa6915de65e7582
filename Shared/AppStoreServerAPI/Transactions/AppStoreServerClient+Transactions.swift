public import Foundation

/// Single transactions (ADP, App Store Server API).
extension AppStoreServerClient {
    /// Get Transaction Info.
    public func transactionInfo(
        _ transactionId: String, in environment: AppStoreEnvironment
    ) async throws -> TransactionInfoResponse {
        let id = try PathPart.identifier(transactionId, .invalidTransactionId)
        return try await value(APICall(.get, "v1", "transactions", id), in: environment)
    }

    /// Get App Transaction Info, by any transaction of the customer.
    public func appTransactionInfo(
        of anyTransactionId: String, in environment: AppStoreEnvironment
    ) async throws -> AppTransactionInfoResponse {
        let id = try PathPart.identifier(anyTransactionId, .invalidTransactionId)
        return try await value(APICall(.get, "v1", "transactions", "appTransactions", id), in: environment)
    }

    /// Look Up Order ID, from the customer's e-mail; an order of another app is not an error but `invalid`.
    public func lookUpOrder(
        _ orderId: String, in environment: AppStoreEnvironment
    ) async throws -> OrderLookupResponse {
        let id = try PathPart.identifier(orderId, nil)
        return try await value(APICall(.get, "v1", "lookup", id), in: environment)
    }

    /// Finish Transaction: the app delivered, and devices need not ask again.
    public func finishTransaction(_ transactionId: String, in environment: AppStoreEnvironment) async throws {
        let id = try PathPart.identifier(transactionId, .invalidTransactionId)
        try await perform(APICall(.post, "v1", "transactions", id, "finish"), in: environment)
    }

    /// Set App Account Token, of a purchase that was not shared; it holds for renewals, too.
    public func setAppAccountToken(
        _ token: UUID, of originalTransactionId: String, in environment: AppStoreEnvironment
    ) async throws {
        struct Body: Encodable { let appAccountToken: String }
        let id = try PathPart.identifier(originalTransactionId, .invalidOriginalTransactionId)
        let call = try APICall(.put, "v1", "transactions", id, "appAccountToken")
            .json(Body(appAccountToken: token.uuidString.lowercased()))
        try await perform(call, in: environment)
    }
}

/// A transaction, signed.
public struct TransactionInfoResponse: Decodable, Sendable, Hashable {
    /// JWS, not verified.
    public let signedTransactionInfo: String
}

/// An app transaction, signed.
public struct AppTransactionInfoResponse: Decodable, Sendable, Hashable {
    /// JWS, not verified.
    public let signedAppTransactionInfo: String
}

/// What an order consists of.
public struct OrderLookupResponse: Decodable, Sendable, Hashable {
    /// Whether it is an order of the app.
    public let status: OrderLookupStatus
    /// JWS, not verified; none when the order is not the app's.
    public let signedTransactions: [String]

    private enum CodingKeys: CodingKey { case status, signedTransactions }

    /// Reads Apple's JSON.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        status = try fields.decode(OrderLookupStatus.self, forKey: .status)
        signedTransactions = try fields.decodeIfPresent([String].self, forKey: .signedTransactions) ?? []
    }
}
