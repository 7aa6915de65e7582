extension OpenAPIExamples {
    /// Of what apps send and are answered.
    static let purchases: [Example] = [
        Example(
            "PurchaseRequest", "SignedTransaction", summary: "StoreKit 2's signed transaction, from the player's app",
            """
            {"app": "com.example.game", "signed_transaction": "eyJhbGciOiJFUzI1NiJ9.eyJ0cmFuc2FjdGlvbklkIjoiMSJ9.c2lnbmF0dXJl"}
            """),
        Example(
            "PurchaseRequest", "Receipt", summary: "A receipt, which of its transactions, and whose, from the backend",
            """
            {"app": "com.example.game", "account": "player-1", "receipt": "MIITuAYJKoZIhvcNAQcCoIITqTCC", "transaction_id": "1"}
            """),
        Example(
            "SettledPurchase", "Fulfilled",
            summary: "The account has what it bought, and the app finishes the transaction",
            """
            {"id": "sub_5c2d9a0f4be17a3380c6d1f2e9b84a70", "state": "fulfilled", "finish": true, "transactions": [
              {"transaction_id": "2000000000000010", "original_transaction_id": "2000000000000010", "environment": "production",
               "product_id": "gems.100", "purchase_date": "2026-11-21T15:39:21.000Z", "quantity": 1, "state": "granted"}]}
            """),
        Example(
            "SettledPurchase", "Rejected", summary: "It is no purchase of this app; the app does not finish it",
            """
            {"id": "sub_0b7e6a51d3c24f8890e7a6b5c4d3e2f1", "state": "rejected", "finish": false, "reason": "bundle_mismatch",
             "detail": "The proof is of another app.", "transactions": []}
            """),
        Example(
            "ReceivedPurchase", summary: "It is on disk, and has no outcome yet",
            """
            {"id": "sub_5c2d9a0f4be17a3380c6d1f2e9b84a70", "state": "received", "finish": false, "transactions": []}
            """),
        Example(
            "AccountTokenRequest", summary: "Whose the token is",
            """
            {"app": "com.example.game", "account": "player-1"}
            """),
        Example(
            "AccountToken", summary: "The token is the account's",
            """
            {"app": "com.example.game", "token": "7e3fb204-2f7e-4c58-b5d1-9f6f0c1a2b3c", "account": "player-1"}
            """),
        Example(
            "IntentRequest", summary: "Player-1 is about to buy gems, says the backend",
            """
            {"app": "com.example.game", "account": "player-1", "product_id": "gems.100"}
            """),
        Example(
            "Intent", summary: "What the app buys with",
            """
            {"id": "7e3fb204-2f7e-4c58-b5d1-9f6f0c1a2b3c", "app": "com.example.game", "account": "player-1",
             "product_id": "gems.100", "created_at": "2026-11-21T15:39:00.120Z", "state": "open"}
            """),
        Example(
            "OfferSignatureRequest", summary: "A promotional offer",
            """
            {"app": "com.example.game", "product_id": "vip.monthly", "offer_id": "back.again",
             "app_account_token": "7e3fb204-2f7e-4c58-b5d1-9f6f0c1a2b3c"}
            """),
        Example(
            "OfferSignature", summary: "The offer, for StoreKit 2 and for StoreKit 1",
            """
            {"app": "com.example.game", "product_id": "vip.monthly", "offer_id": "back.again",
             "app_account_token": "7e3fb204-2f7e-4c58-b5d1-9f6f0c1a2b3c", "key_id": "ABC123DEFG",
             "nonce": "0b1d3c5e-7f90-4a2b-8c4d-6e8f0a1b2c3d", "timestamp": 1795275561000, "signature": "MEUCIQDvc2lnbmF0dXJl",
             "expires_at": "2026-11-22T15:39:21.000Z", "jws": "eyJhbGciOiJFUzI1NiJ9.eyJiaWQiOiJjb20uZXhhbXBsZS5nYW1lIn0.c2ln"}
            """),
        Example(
            "NotificationRequest", summary: "As Apple posts it",
            """
            {"signedPayload": "eyJhbGciOiJFUzI1NiJ9.eyJub3RpZmljYXRpb25UeXBlIjoiVEVTVCJ9.c2lnbmF0dXJl"}
            """),
        Example(
            "Notification", summary: "It is on disk",
            """
            {"id": "sub_9f8e7d6c5b4a39281706f5e4d3c2b1a0"}
            """),
        Example(
            "ConsentRequest", summary: "The player agrees",
            """
            {"app": "com.example.game", "consented": true}
            """),
        Example(
            "ConsentAnswer", summary: "It is written down",
            """
            {"app": "com.example.game", "account": "player-1", "consented": true, "changed_at": "2026-11-21T15:39:21.497Z"}
            """),
    ]

    /// Of problems.
    static let problems: [Example] = [
        Example(
            "Problem", "FieldMissing", summary: "A field is missing",
            """
            {"type": "/problems/field-missing", "title": "A field is missing", "status": 422,
             "detail": "The field `app` is required.", "field": "app"}
            """),
        Example(
            "Problem", "TryAgain", summary: "The same request may succeed later",
            """
            {"type": "/problems/overloaded", "title": "Too much arrives at once", "status": 503,
             "detail": "Nothing is lost: do not finish a transaction that was posted, and send the same request again."}
            """),
        Example(
            "BalanceInsufficient", summary: "There is too little",
            """
            {"type": "/problems/balance-insufficient", "title": "The balance is insufficient", "status": 409,
             "items": [{"item": "gem", "amount": 30, "balance": 20}]}
            """),
        Example(
            "VersionNotReached", summary: "The account is not as far yet",
            """
            {"type": "/problems/version-not-reached", "title": "The account has not reached the version", "status": 409,
             "detail": "The account is at version 3. Ask again, or with a longer `wait`.", "version": "3"}
            """),
    ]
}
