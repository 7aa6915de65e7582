/// What a clause of a sentence says, so that it can be said in another language: `StoryCode` in the OpenAPI document.
enum StoryCode: String, Encodable, Sendable, CaseIterable {
    // Bought, received, verified.
    case bought
    case boughtFor = "bought_for"
    case boughtInStorefront = "bought_in_storefront"
    case boughtInSandbox = "bought_in_sandbox"
    case boughtAsTest = "bought_as_test"
    case boughtByFamily = "bought_by_family"
    case boughtAsSeat = "bought_as_seat"
    case boughtAsPart = "bought_as_part"
    case boughtWithToken = "bought_with_token"
    case receivedFromAccount = "received_from_account"
    case receivedFromApple = "received_from_apple"
    case receiptNames = "receipt_names"
    case imported
    case importedFor = "imported_for"
    case verified
    case paidUntil = "paid_until"
    case furtherId = "further_id"
    case bySubmission = "by_submission"
    case priceExpected = "price_expected"
    case priceUnexpected = "price_unexpected"
    case estimate
    case estimateRefund = "estimate_refund"
    // Whose it is.
    case claimed
    case claimedBy = "claimed_by"
    case claimedBecause = "claimed_because"
    case claimPending = "claim_pending"
    case ownerIs = "owner_is"
    case ownerChanged = "owner_changed"
    case ownerShares = "owner_shares"
    case becauseOfToken = "because_of_token"
    case becauseOfPossession = "because_of_possession"
    case becauseOfPurchase = "because_of_purchase"
    case becauseOfPolicy = "because_of_policy"
    case becauseOfOperator = "because_of_operator"
    case becauseOf = "because_of"
    // What was decided.
    case parked
    case unusualWord = "unusual_word"
    case granted
    case grantedByCatalogue = "granted_by_catalogue"
    case grantedElsewhere = "granted_elsewhere"
    case refundedInFull = "refunded_in_full"
    case refundedShare = "refunded_share"
    case refundedPart = "refunded_part"
    case familySharingEnded = "family_sharing_ended"
    case seatTakenBack = "seat_taken_back"
    case takenBack = "taken_back"
    case takenBackShare = "taken_back_share"
    case became
    case becameTookBack = "became_took_back"
    case becameElsewhere = "became_elsewhere"
    case becameBeforeGrant = "became_before_grant"
    // What the account has.
    case credited, took
    case gaveBack = "gave_back"
    case corrected
    case mayUseUntil = "may_use_until"
    case mayUseForEver = "may_use_for_ever"
    case mayUseNoMore = "may_use_no_more"
    case subscriptionActive = "subscription_active"
    case subscriptionExpired = "subscription_expired"
    case subscriptionBillingRetry = "subscription_billing_retry"
    case subscriptionGracePeriod = "subscription_grace_period"
    case subscriptionRevoked = "subscription_revoked"
    case willRenew = "will_renew"
    case willRenewAs = "will_renew_as"
    case willNotRenew = "will_not_renew"
    // What was answered and told.
    case noOutcome = "no_outcome"
    case answered
    case recordedFromApple = "recorded_from_apple"
    case because
    case nextTry = "next_try"
    case eventWritten = "event_written"
    case eventNumber = "event_number"
    case eventMeaning = "event_meaning"
    case eventWaits = "event_waits"
    case webhookDelivered = "webhook_delivered"
    case webhookWaits = "webhook_waits"
    case webhookGivenUp = "webhook_given_up"
    case lastAnswer = "last_answer"
}

/// A sentence in the making: its English words, and beside them the same as clauses.
struct StoryWords: Sendable, Equatable {
    /// `StoryPart` in the OpenAPI document.
    struct Part: Encodable, Sendable, Equatable {
        let code: StoryCode
        /// Ids, codes, amounts and times, by name.
        let values: [String: String]
    }

    private(set) var text: String
    private(set) var parts: [Part]

    init(_ text: String, _ code: StoryCode, _ values: [String: String] = [:]) {
        self.text = text
        parts = [Part(code: code, values: values)]
    }

    /// Goes on with another clause.
    mutating func add(_ text: String, _ code: StoryCode, _ values: [String: String] = [:]) {
        self.text += text
        parts.append(Part(code: code, values: values))
    }

    /// Goes on with English words that say nothing of their own.
    mutating func add(_ text: String) { self.text += text }

    /// The same with words at its end.
    func ending(_ text: String) -> StoryWords {
        var words = self
        words.add(text)
        return words
    }
}
