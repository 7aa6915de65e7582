extension StoreState {
    enum DueLimit {
        /// Notifications that are handed out to be sent at a time.
        static let notifications = 256
        /// Things that happen before others get their turn.
        static let events = 1_000
    }

    /// The instant of the next thing that happens by itself; milliseconds since 1970.
    mutating func nextDueDate() -> Int64? {
        while let entry = due.first {
            if dueDate(of: entry.kind) == entry.date { return entry.date }
            // The record says otherwise: the reminder is out of date.
            _ = due.popFirst()
        }
        return nil
    }

    /// Lets happen what is due, in its order, and returns the notifications that are to be sent.
    ///
    /// - Parameter limit: nothing after this instant.
    /// - Returns: how much happened, and notifications without a next attempt until theirs is recorded.
    mutating func performDue(until limit: Int64) -> (count: Int, notifications: [NotificationRecord]) {
        var count = 0
        var sending: [NotificationRecord] = []
        while count < DueLimit.events, sending.count < DueLimit.notifications, let date = nextDueDate(),
            date <= limit, let entry = due.popFirst()
        {
            count += 1
            switch entry.kind {
            case .subscription(let id): subscriptionFallsDue(id, now: date)
            case .refundRequest(let id): refundRequestFallsDue(id, now: date)
            case .externalPurchase(let id): externalPurchaseFallsDue(id, now: date)
            case .massExtension(let id): massExtensionFallsDue(id, now: date)
            case .notification(let id):
                // Its date stays until the attempt is recorded: a simulator that dies meanwhile sends it again.
                if let notification = notifications[id] { sending.append(notification) }
            }
            guard dueDate(of: entry.kind) == date, !entry.kind.isNotification else { continue }
            // Whoever lets it fall due moves its date; if he did not, it would fall due for ever.
            clearDueDate(of: entry.kind)
        }
        return (count, sending)
    }

    private func dueDate(of kind: DueQueue.Kind) -> Int64? {
        switch kind {
        case .subscription(let id): subscriptions[id]?.dueDate
        case .notification(let id): notifications[id]?.nextAttemptDate
        case .refundRequest(let id): refundRequests[id]?.nextRequestDate
        case .externalPurchase(let id): externalPurchases[id]?.nextNoticeDate
        case .massExtension(let id): massExtensions[id]?.dueDate
        }
    }

    private mutating func clearDueDate(of kind: DueQueue.Kind) {
        switch kind {
        case .subscription(let id):
            guard var row = subscriptions[id] else { return }
            row.dueDate = nil
            put(row)
        case .refundRequest(let id):
            guard var row = refundRequests[id] else { return }
            row.nextRequestDate = nil
            put(row)
        case .externalPurchase(let id):
            guard var row = externalPurchases[id] else { return }
            row.nextNoticeDate = nil
            put(row)
        case .massExtension(let id):
            guard var row = massExtensions[id] else { return }
            row.dueDate = nil
            put(row)
        case .notification: return
        }
    }
}

extension DueQueue.Kind {
    fileprivate var isNotification: Bool {
        if case .notification = self { return true }
        return false
    }
}
