extension StoreState {
    /// The notifications that the store tried to deliver, as Get Notification History tells them: oldest first.
    ///
    /// Those that were not tried yet, or have nowhere to go, are not among them: Apple lists what it "attempted to send".
    ///
    /// - Parameters:
    ///   - from: the earliest, milliseconds since 1970.
    ///   - to: the latest, inclusive.
    ///   - subtype: looked at only with `type`; nil with a type means those without a subtype or with any.
    ///   - transactionId: any transaction of a customer: only what is about this customer.
    ///   - onlyFailures: only what has not arrived, including what is still being tried.
    ///   - sequence: only those after it; for the next page, that of the last on this one.
    ///   - limit: how many at most.
    func notificationHistory(
        bundleId: String, environment: StoreEnvironment, from: Int64, to: Int64, type: String? = nil,
        subtype: String? = nil, transactionId: String? = nil, onlyFailures: Bool = false, after sequence: Int64 = 0,
        limit: Int
    ) -> [NotificationRecord] {
        let log = notificationLog[Self.logKey(bundleId, environment), default: []]
        let customer = transactionId.flatMap { transactions[$0]?.accountId }
        var found: [NotificationRecord] = []
        for id in log[firstIndex(in: log, after: sequence)...] {
            guard found.count < limit else { break }
            guard let row = notifications[id], !row.attempts.isEmpty, (from...max(from, to)).contains(row.createdDate)
            else { continue }
            if let type, row.notificationType != type { continue }
            if type != nil, let subtype, row.subtype != subtype { continue }
            if let transactionId, !isAbout(row, transactionId: transactionId, customer: customer) { continue }
            if onlyFailures, row.hasArrived { continue }
            found.append(row)
        }
        return found
    }

    /// Notifications of an app, or of all, oldest first.
    ///
    /// - Parameter sequence: only those after it.
    func notificationsInOrder(bundleId: String? = nil, after sequence: Int64, limit: Int) -> [NotificationRecord] {
        let logs =
            if let bundleId {
                StoreEnvironment.allCases.compactMap { notificationLog[Self.logKey(bundleId, $0)] }
            } else {
                Array(notificationLog.values)
            }
        var found: [NotificationRecord] = []
        for log in logs {
            found += log[firstIndex(in: log, after: sequence)...].prefix(limit).compactMap { notifications[$0] }
        }
        return Array(found.sorted { $0.sequence < $1.sequence }.prefix(limit))
    }

    /// The sequence of the newest notification; 0 when there never was one.
    var newestNotification: Int64 { (numbers[.sequence] ?? 1) - 1 }

    /// Forgets what is older than Apple's history, or more than the limit.
    ///
    /// - Parameter now: milliseconds since 1970; nil for when the newest came about.
    mutating func forgetOldNotifications(now: Int64? = nil) {
        for (key, log) in notificationLog {
            guard let newest = log.last.flatMap({ notifications[$0] }) else { continue }
            let earliest = (now ?? newest.createdDate) - NotificationSchedule.history(in: newest.environment)
            let count = log.prefix { (notifications[$0]?.createdDate ?? 0) < earliest }.count
            removeOldestNotifications(count, of: key)
        }
        guard notifications.count > Limit.notifications else { return }
        let kept = Limit.notifications - Limit.notifications / NotificationSchedule.Limit.shareForgotten
        let sequences = notifications.rows.values.map(\.sequence).sorted()
        let last = sequences[notifications.count - kept - 1]
        for (key, log) in notificationLog { removeOldestNotifications(firstIndex(in: log, after: last), of: key) }
    }

    /// Where in a log the notifications after a sequence begin: they are in its order.
    private func firstIndex(in log: [String], after sequence: Int64) -> Int {
        var low = 0
        var high = log.count
        while low < high {
            let middle = (low + high) / 2
            if notifications[log[middle]]?.sequence ?? 0 <= sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func isAbout(_ row: NotificationRecord, transactionId: String, customer: String?) -> Bool {
        if row.transactionId == transactionId || row.originalTransactionId == transactionId { return true }
        guard let customer, let id = row.transactionId else { return false }
        return transactions[id]?.accountId == customer
    }
}

extension NotificationRecord {
    /// Whether an attempt to deliver it succeeded.
    var hasArrived: Bool { attempts.contains { $0.sendAttemptResult == SendAttemptResult.success.rawValue } }
}
