/// What Get Notification History is asked for, checked.
struct NotificationHistoryQuery: Sendable {
    /// The earliest, inclusive; milliseconds since 1970.
    let startDate: Int64
    /// The latest, exclusive.
    let endDate: Int64
    let type: String?
    let subtype: String?
    let transactionId: String?
    let onlyFailures: Bool

    /// Reads Apple's `NotificationHistoryRequest`.
    ///
    /// - Parameter now: milliseconds since 1970; an end in the future becomes now.
    /// - Throws: 4000015, 4000016, 4000013, 4000012, 4000019, 4000018, 4000006.
    init(_ body: [String: JSONValue], environment: StoreEnvironment, now: Int64) throws(APIError) {
        guard let startDate = body["startDate"]?.whole, startDate >= 0 else { throw .invalidStartDate }
        guard let endDate = body["endDate"]?.whole, endDate >= 0 else { throw .invalidEndDate }
        guard startDate < endDate else { throw .startDateAfterEndDate }
        guard startDate >= now - NotificationSchedule.history(in: environment) else { throw .startDateTooFarInPast }
        self.startDate = startDate
        self.endDate = min(endDate, now + 1)
        type = try Self.name(body["notificationType"]) { NotificationType(rawValue: $0) != nil }
        subtype = try Self.name(body["notificationSubtype"]) { NotificationSubtype(rawValue: $0) != nil }
        let transactionId = body["transactionId"] ?? .null
        guard transactionId.isNull || (type == nil && subtype == nil) else { throw .multipleFiltersSupplied }
        // A subtype is looked for only under its type.
        guard subtype == nil || type != nil else { throw .invalidNotificationType }
        guard transactionId.isNull || transactionId.text.map(StoreState.isTransactionId) == true else {
            throw .invalidTransactionId
        }
        self.transactionId = transactionId.text
        let onlyFailures = body["onlyFailures"] ?? .flag(false)
        guard onlyFailures.isNull || onlyFailures.flag != nil else { throw .generalBadRequest }
        self.onlyFailures = onlyFailures.flag == true
    }

    private static func name(_ value: JSONValue?, _ isKnown: (String) -> Bool) throws(APIError) -> String? {
        guard let value, !value.isNull else { return nil }
        guard let text = value.text, isKnown(text) else { throw .invalidNotificationType }
        return text
    }
}

/// Apple's `paginationToken`: after which notification the next page begins, and since when the token exists.
struct PaginationToken: Sendable {
    enum Limit {
        /// How long a token is good, virtual milliseconds; Apple says that they expire, not when.
        static let age: Int64 = 24 * 3_600_000
        /// Characters of a token.
        static let length = 64
    }

    let sequence: Int64
    /// Milliseconds since 1970.
    let madeDate: Int64

    init(sequence: Int64, madeDate: Int64) {
        self.sequence = sequence
        self.madeDate = madeDate
    }

    /// - Throws: 4000014, 4000017.
    init(_ text: String, now: Int64) throws(APIError) {
        let numbers = text.split(separator: "_", omittingEmptySubsequences: false).map { Int64($0) }
        guard text.utf8.count <= Limit.length, numbers.count == 2, let date = numbers[0], let sequence = numbers[1],
            date >= 0, sequence >= 0
        else { throw .invalidPaginationToken }
        guard now - date <= Limit.age else { throw .paginationTokenExpired }
        self.init(sequence: sequence, madeDate: date)
    }

    var text: String { "\(madeDate)_\(sequence)" }
}
