public import Foundation

/// Server notifications: what was sent, and whether sending works.
extension AppStoreServerClient {
    /// Get Notification History: one page of at most twenty notifications.
    public func notificationHistory(
        _ request: NotificationHistoryRequest, after paginationToken: String? = nil, in environment: AppStoreEnvironment
    ) async throws -> NotificationHistoryResponse {
        let call = try APICall(.post, "v1", "notifications", "history")
            .query([("paginationToken", paginationToken)]).json(try request.wire())
        return try await value(call, in: environment)
    }

    /// Every page of a notification history.
    public func notificationHistoryPages(
        _ request: NotificationHistoryRequest, after paginationToken: String? = nil, in environment: AppStoreEnvironment
    ) -> AppStorePages<NotificationHistoryResponse> {
        AppStorePages(first: paginationToken) { token in
            try await notificationHistory(request, after: token, in: environment)
        }
    }

    /// Request a Test Notification.
    ///
    /// - Returns: the token by which ``testNotificationStatus(_:in:)`` finds it.
    public func requestTestNotification(in environment: AppStoreEnvironment) async throws -> String {
        struct Token: Decodable { let testNotificationToken: String }
        let answer: Token = try await value(APICall(.post, "v1", "notifications", "test"), in: environment)
        return answer.testNotificationToken
    }

    /// Get Test Notification Status; 4040008 until it was tried.
    public func testNotificationStatus(
        _ testNotificationToken: String, in environment: AppStoreEnvironment
    ) async throws -> SentNotification {
        let token = try PathPart.name(
            testNotificationToken, .invalidTestNotificationToken, "testNotificationToken")
        return try await value(APICall(.get, "v1", "notifications", "test", token), in: environment)
    }
}

/// Which notifications a history has (ADP, NotificationHistoryRequest).
public struct NotificationHistoryRequest: Sendable, Hashable {
    /// What is looked for: one thing at a time.
    public enum Filter: Sendable, Hashable {
        /// A type, and perhaps a subtype.
        case type(NotificationTypeName, NotificationSubtypeName? = nil)
        /// Those of the customer who has a transaction.
        case transactionId(String)
    }

    /// The earliest, inclusive: 180 days ago at most, in the sandbox 30.
    public var startDate: Date
    /// The latest, exclusive.
    public var endDate: Date
    /// What is looked for; all when it is nil.
    public var filter: Filter?
    /// Only those that did not arrive, whether or not they are still tried.
    public var onlyFailures: Bool

    /// Takes the fields.
    public init(startDate: Date, endDate: Date, filter: Filter? = nil, onlyFailures: Bool = false) {
        self.startDate = startDate
        self.endDate = endDate
        self.filter = filter
        self.onlyFailures = onlyFailures
    }

    struct Wire: Encodable {
        let startDate: Int64
        let endDate: Int64
        var notificationType: NotificationTypeName?
        var notificationSubtype: NotificationSubtypeName?
        var transactionId: String?
        let onlyFailures: Bool
    }

    /// As Apple's JSON has it.
    ///
    /// - Throws: ``AppStoreServerError`` with 4000006, 4000013, 4000015, 4000016.
    func wire() throws -> Wire {
        var wire = Wire(
            startDate: try AppStoreInstant.milliseconds(startDate, .invalidStartDate),
            endDate: try AppStoreInstant.milliseconds(endDate, .invalidEndDate), onlyFailures: onlyFailures)
        guard wire.startDate < wire.endDate else {
            throw AppStoreServerError.refused(.startDateAfterEndDate, "startDate: before endDate")
        }
        switch filter {
        case .type(let type, let subtype):
            wire.notificationType = type
            wire.notificationSubtype = subtype
        case .transactionId(let id):
            wire.transactionId = try PathPart.identifier(id, .invalidTransactionId)
        case nil: break
        }
        return wire
    }
}

/// A page of a notification history.
public struct NotificationHistoryResponse: Decodable, Sendable, Hashable, AppStorePage {
    /// Asks for the next page; good for a while.
    public let paginationToken: String?
    /// Whether there are more pages.
    public let hasMore: Bool
    /// The notifications.
    public let notificationHistory: [SentNotification]
    /// How many entries besides have no signed payload.
    public let unreadableEntries: Int

    /// The pagination token.
    public var nextPage: String? { paginationToken }

    private enum CodingKeys: CodingKey { case paginationToken, hasMore, notificationHistory }

    /// Reads Apple's JSON; an answer that does not say whether there is more is not read.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        let entries = fields.entries(.notificationHistory, of: SentNotification.self)
        paginationToken = try? fields.decode(String.self, forKey: .paginationToken)
        hasMore = try fields.decode(Bool.self, forKey: .hasMore)
        notificationHistory = entries.compactMap(\.self)
        unreadableEntries = entries.count { $0 == nil }
    }
}

/// A notification, and how often it was sent.
public struct SentNotification: Decodable, Sendable, Hashable {
    /// JWS, not verified.
    public let signedPayload: String
    /// At most six; what cannot be read is left out.
    public let sendAttempts: [Attempt]

    private enum CodingKeys: CodingKey { case signedPayload, sendAttempts }

    /// Reads Apple's JSON.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        signedPayload = try fields.decode(String.self, forKey: .signedPayload)
        sendAttempts = fields.entries(.sendAttempts, of: Attempt.self).compactMap(\.self)
    }

    /// One time that it was sent.
    public struct Attempt: Decodable, Sendable, Hashable {
        /// What came of it.
        public let sendAttemptResult: SendAttemptResult
    }
}
