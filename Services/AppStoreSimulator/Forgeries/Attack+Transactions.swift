import Foundation

/// Genuine transactions in the wrong hands, too often, or at the wrong time.
extension Attack {
    static let replays = [
        Attack(
            "replay_of_victims_token", "A genuine transaction that names a victim's account token, posted by another.",
            goodBackend: "It goes to the account whose token it names and to nobody else, whoever posts it."
        ) { material in
            [.transaction(try material.sign(try await material.buy { $0.nameToken() }))]
        },
        Attack(
            "replay_without_token",
            "A genuine transaction without an account token: one account posts it, then another does.",
            goodBackend: "It is granted once; the second account is refused and gets nothing."
        ) { material in
            let signed = try material.sign(try await material.buy { $0.appAccountToken = nil })
            return [.transaction(signed), .transaction(signed)]
        },
        Attack(
            "thousand_times", "A genuine transaction that is posted a thousand times, at once if possible.",
            goodBackend: "It is granted once, and every answer says the same."
        ) { material in
            let signed = try material.sign(try await material.buy())
            return [Artefact(kind: .transaction, value: signed, times: 1_000)]
        },
        Attack(
            "signed_again",
            "One genuine transaction, signed three times at different dates: three texts, one purchase.",
            goodBackend: "It is granted once: the transaction id counts, not the text."
        ) { material in
            let transaction = try await material.buy()
            let now = material.now
            return try [0, 1_000, 60_000].map { .transaction(try material.sign(transaction, signedDate: now - $0)) }
        },
        Attack(
            "refund_undone_by_older_signature",
            "A transaction as it was signed when bought, the same refunded, and then the older text again.",
            goodBackend: "It stays revoked: what was signed later counts, in whatever order it comes."
        ) { material in
            let transaction = try await material.buy()
            let now = material.now
            let bought = try material.sign(transaction, signedDate: now - 60_000)
            let refunded = try await material.store.change { state, now in
                try state.refund(transaction.id, percentage: nil, reason: 0, now: now)
                return state.transactions[transaction.id] ?? transaction
            }
            return [
                .transaction(bought), .transaction(try material.sign(refunded, signedDate: now)), .transaction(bought),
            ]
        },
        Attack(
            "family_copy_posted_by_buyer",
            "The buyer's transaction, and a family member's copy of it, posted by the same account.",
            goodBackend: "It is granted once: a copy is FAMILY_SHARED, has another id, and nobody paid for it."
        ) { material in
            let transaction = try await material.buy()
            let copy = try await material.store.change { state, now in
                var copy = transaction
                copy.transactionId = String(state.nextNumber(.transactionId))
                copy.originalTransactionId = copy.transactionId
                copy.isFamilyShared = true
                copy.price = nil
                copy.currency = nil
                copy.appAccountToken = nil
                copy.accountId = "\(transaction.accountId)/family"
                copy.sharedFromTransactionId = transaction.transactionId
                state.put(copy, now: now)
                return copy
            }
            return [.transaction(try material.sign(transaction)), .transaction(try material.sign(copy))]
        },
        Attack(
            "expired_subscription", "A genuine subscription period that ended a year ago.",
            goodBackend: "It grants nothing for the present."
        ) { material in
            var transaction = try await material.buy()
            let year: Int64 = 365 * 86_400_000
            transaction.type = .autoRenewableSubscription
            transaction.subscriptionGroupIdentifier = String(Number.derived(from: transaction.bundleId, digits: 8))
            transaction.webOrderLineItemId = StoreState.webOrderLineItemId(of: transaction.transactionId)
            transaction.purchaseDate -= year + 30 * 86_400_000
            transaction.originalPurchaseDate = transaction.purchaseDate
            transaction.expiresDate = transaction.purchaseDate + 30 * 86_400_000
            return [.transaction(try material.sign(transaction, signedDate: transaction.purchaseDate + 500))]
        },
    ]

    static let lies = [
        Attack(
            "sandbox_as_production", "A genuine sandbox purchase, which cost nothing, posted where real ones go.",
            goodBackend: "It is refused, or granted in a test environment only."
        ) { material in
            [.transaction(try material.sign(try await material.buy { $0.environment = .sandbox }))]
        },
        Attack(
            "missing_environment", "A genuine transaction that does not say whether it is a sandbox purchase.",
            goodBackend:
                "It is held back until somebody who knows the environment says so; Apple wrote none before 2022."
        ) { material in
            var payload = PayloadText(try await material.buy().payload(signedDate: material.now))
            payload["environment"] = nil
            return [.transaction(try material.signer.sign(payload.text))]
        },
        Attack(
            "backdated_under_expired_leaf",
            "A transaction that nobody bought, signed for 2015 with the leaked key of a leaf that expired then.",
            goodBackend:
                "It is held back, or Apple is asked: certificates are judged at the date that a payload names itself."
        ) { material in
            let request = material.request
            let purchase = material.purchase
            var invented = try await material.store.change { state, now in
                request.transaction(of: purchase, in: &state, now: now)
            }
            let date = Int64(Instant.past.lowerBound.timeIntervalSince1970 * 1_000) + 86_400_000
            invented.purchaseDate = date
            invented.originalPurchaseDate = date
            return [.transaction(try material.workshop.expiredSigner().sign(invented.payload(signedDate: date + 500)))]
        },
        Attack(
            "unreadable_token",
            "A genuine transaction whose account token is no UUID: it names somebody, nobody knows whom.",
            goodBackend: "It is held back, and not given to whoever posted it."
        ) { material in
            var payload = PayloadText(try await material.buy().payload(signedDate: material.now))
            payload["appAccountToken"] = "\"player-7\""
            return [.transaction(try material.signer.sign(payload.text))]
        },
        Attack(
            "signed_tomorrow", "A genuine transaction that was signed tomorrow, and the same signed today.",
            goodBackend:
                "It is granted once; the later date does not shut out what really comes later, such as a refund."
        ) { material in
            let transaction = try await material.buy()
            return [
                .transaction(try material.sign(transaction, signedDate: material.now + 86_400_000)),
                .transaction(try material.sign(transaction)),
            ]
        },
        Attack(
            "huge_transaction", "A genuine transaction with 300 kB of a field that nobody knows.",
            goodBackend: "It is refused by its size, before anything is decoded."
        ) { material in
            var payload = PayloadText(try await material.buy().payload(signedDate: material.now))
            payload["comment"] = "\"\(String(repeating: "x", count: 300_000))\""
            return [.transaction(try material.signer.sign(payload.text))]
        },
        Attack(
            "renewal_info_of_another", "A genuine transaction, and the genuine renewal info of another subscription.",
            goodBackend: "The renewal info is not used: its originalTransactionId is not the transaction's."
        ) { material in
            let transaction = try await material.buy()
            let other = try await material.buy()
            return [
                .transaction(try material.sign(transaction)),
                .renewalInfo(
                    try material.renewalInfo(of: transaction, originalTransactionId: other.originalTransactionId)),
            ]
        },
    ]
}

extension Purchase {
    /// Names an account token, if none is named yet.
    fileprivate mutating func nameToken() {
        appAccountToken = appAccountToken ?? UUID().uuidString.lowercased()
    }
}
