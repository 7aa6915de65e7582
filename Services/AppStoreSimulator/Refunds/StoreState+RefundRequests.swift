import HTTPTypes

extension StoreState {
    enum RefundRequestLimit {
        /// How often the developer is asked for consumption data at most: at once, and after 12, 24 and 36 hours.
        static let requests = 4
        /// Between two of them, milliseconds (apple-facts C11: an answer is wanted within 12 hours).
        static let interval: Int64 = 12 * 3_600_000
    }

    /// Apple's `consumptionRequestReason` (apple-facts C7).
    static let refundReasons: Set<String> = [
        "UNINTENDED_PURCHASE", "FULFILLMENT_ISSUE", "UNSATISFIED_WITH_PURCHASE", "LEGAL", "OTHER",
    ]

    /// A customer asks for a refund: CONSUMPTION_REQUEST, and a subscription stops renewing.
    ///
    /// - Parameter reason: one of ``refundReasons``.
    /// - Throws: a ``Problem`` when it cannot be refunded, or a request is open.
    mutating func requestRefund(_ transactionId: String, reason: String, now: Int64) throws {
        guard Self.refundReasons.contains(reason) else {
            throw Problem(.badRequest, "reason: one of \(Self.refundReasons.sorted().joined(separator: ", "))")
        }
        let transaction = try refundable(transactionId, now: now)
        guard openRefundRequest(of: transactionId) == nil else {
            throw Problem(.conflict, "a refund of \(transactionId) is asked for already")
        }
        put(
            RefundRequestRecord(
                transactionId: transactionId, requestedDate: now, reason: reason, outcome: .open, requestsSent: 1,
                nextRequestDate: now + RefundRequestLimit.interval))
        notify(.consumptionRequest, transactionId: transactionId, reason: reason, now: now)
        guard var record = subscriptions[transaction.originalTransactionId], !record.isOver, record.autoRenews,
            !record.isFamilyShared
        else { return }
        record.autoRenews = false
        keep(record, now: now)
        announce(.didChangeRenewalStatus, .autoRenewDisabled, of: record.id, now: now)
    }

    /// The next CONSUMPTION_REQUEST of a refund request is due: it asks again, under a new UUID.
    mutating func refundRequestFallsDue(_ transactionId: String, now: Int64) {
        guard var request = refundRequests[transactionId], let due = request.nextRequestDate, due <= now else { return }
        guard request.outcome == .open, request.requestsSent < RefundRequestLimit.requests else {
            request.nextRequestDate = nil
            return put(request)
        }
        request.requestsSent += 1
        request.nextRequestDate =
            request.requestsSent < RefundRequestLimit.requests ? due + RefundRequestLimit.interval : nil
        put(request)
        notify(.consumptionRequest, transactionId: transactionId, reason: request.reason, now: due)
    }

    /// The developer answered, under whichever id of the purchase: it is not asked again.
    mutating func consumptionAnswered(_ transactionId: String) {
        guard var request = openRefundRequest(of: transactionId), request.nextRequestDate != nil else { return }
        request.nextRequestDate = nil
        put(request)
    }

    /// Declines what was asked for: REFUND_DECLINED.
    ///
    /// A subscription that stopped renewing stays so.
    ///
    /// - Throws: a ``Problem`` when no refund is asked for.
    mutating func declineRefund(_ transactionId: String, now: Int64) throws {
        _ = try transactions.required(transactionId, "transaction")
        guard openRefundRequest(of: transactionId) != nil else {
            throw Problem(.conflict, "no refund of \(transactionId) is asked for")
        }
        decide(transactionId, .declined, now: now)
        notify(.refundDeclined, transactionId: transactionId, now: now)
    }

    /// The request that waits for its decision, under whichever id of the purchase it was made.
    private func openRefundRequest(of transactionId: String) -> RefundRequestRecord? {
        transactionIds(ofPurchase: transactionId).lazy.compactMap { refundRequests[$0] }.first { $0.outcome == .open }
    }

    /// Writes down what became of a request; a refund that nobody asked for gets a record too.
    mutating func decide(_ transactionId: String, _ outcome: RefundRequestRecord.Outcome, now: Int64) {
        var request =
            openRefundRequest(of: transactionId) ?? refundRequests[transactionId]
            ?? transactionIds(ofPurchase: transactionId).compactMap { refundRequests[$0] }.first
            ?? RefundRequestRecord(
                transactionId: transactionId, requestedDate: now, reason: "OTHER", outcome: outcome, requestsSent: 0,
                nextRequestDate: nil)
        request.outcome = outcome
        request.nextRequestDate = nil
        put(request)
    }
}
