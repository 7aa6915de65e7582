extension OpenAPIExamples {
    /// Of what is read of accounts and orders.
    static let accounts: [Example] = [
        Example(
            "Account", summary: "An account with gems and a subscription",
            """
            {"app": "com.example.game", "environment": "production", "account": "player-1", "version": 3,
             "entitlements": [{"entitlement": "vip", "transaction_id": "2000000000000080",
               "granted_at": "2026-11-01T10:00:00.500Z", "expires_at": "2026-12-01T10:00:00.000Z", "active": true}],
             "balances": [{"item": "gem", "amount": 70}],
             "subscriptions": [{"original_transaction_id": "2000000000000080", "transaction_id": "2000000000000080",
               "product_id": "vip.monthly", "state": "active", "purchase_date": "2026-11-01T10:00:00.000Z",
               "expires_date": "2026-12-01T10:00:00.000Z", "will_renew": true, "shared": false,
               "changed_at": "2026-11-01T10:00:00.500Z"}],
             "consent": {"consented": true, "changed_at": "2026-11-01T09:58:00.000Z"}, "complete": true}
            """),
        Example(
            "TransactionPage", summary: "A page that is not the last",
            """
            {"transactions": [{"transaction_id": "2000000000000010", "original_transaction_id": "2000000000000010",
               "product_id": "gems.100", "product_type": "consumable", "quantity": 1, "state": "granted",
               "purchase_date": "2026-11-21T15:39:21.000Z", "ownership": "PURCHASED", "price_milliunits": 990,
               "currency": "EUR", "storefront": "DEU", "recorded_at": "2026-11-21T15:39:22.104Z",
               "granted_at": "2026-11-21T15:39:22.104Z"}], "next": "MTc5NTI3NTU2MTAwMDAwMC4y"}
            """),
        Example(
            "Order", summary: "What a purchase brought, and who was told",
            """
            {"app": "com.example.game", "environment": "production", "account": "player-1",
             "transaction_ids": ["2000000000000010"],
             "transaction": {"transaction_id": "2000000000000010", "original_transaction_id": "2000000000000010",
               "product_id": "gems.100", "product_type": "consumable", "quantity": 1, "state": "granted",
               "purchase_date": "2026-11-21T15:39:21.000Z", "recorded_at": "2026-11-21T15:39:22.104Z",
               "granted_at": "2026-11-21T15:39:22.104Z"},
             "catalogue_version": 1, "price_expected": true,
             "submissions": [{"id": "sub_5c2d9a0f4be17a3380c6d1f2e9b84a70", "account": "player-1",
               "kind": "signed_transaction", "state": "fulfilled", "received_at": "2026-11-21T15:39:21.980Z",
               "settled_at": "2026-11-21T15:39:22.104Z"}],
             "entries": [{"kind": "grant", "account": "player-1", "item": "gem", "amount": 100,
               "created_at": "2026-11-21T15:39:22.104Z"}],
             "entitlements": [],
             "bindings": [{"to": "player-1", "first": true, "cause": "possession",
               "created_at": "2026-11-21T15:39:22.104Z"}],
             "claims": [],
             "events": [{"id": "evt_0000000000000000000000000199a000", "type": "iap.transaction.fulfilled",
               "account": "player-1", "sequence": 1, "created_at": "2026-11-21T15:39:22.104Z"}],
             "deliveries": [{"event_id": "evt_0000000000000000000000000199a000", "endpoint": "backend",
               "state": "delivered", "attempts": 1, "last_status": 204, "created_at": "2026-11-21T15:39:22.110Z",
               "delivered_at": "2026-11-21T15:39:22.131Z"}]}
            """),
        Example(
            "Why", summary: "The story of an order",
            """
            {"sentences": [{"at": "2026-11-21T15:39:21.980Z", "text": "The account player-1 posted a signed transaction."},
               {"at": "2026-11-21T15:39:22.104Z", "text": "It was granted to player-1."}]}
            """),
        Example(
            "AccountExport", summary: "An account that bought nothing",
            """
            {"schema_version": "2026-11-01", "app": "com.example.game", "account": "player-1",
             "exported_at": "2026-11-21T15:39:21.497Z",
             "account_tokens": [{"token": "7e3fb204-2f7e-4c58-b5d1-9f6f0c1a2b3c"}], "purchase_intents": [],
             "account_consents": [], "submissions": [], "import_lines": [], "orders": [], "lineages": [],
             "lineage_shares": [], "lineage_claims": [], "binding_history": [], "renewal_statements": [],
             "subscriptions": [], "entitlements": [], "ledger_entries": [], "balances": [],
             "spends": [], "events": [], "webhook_deliveries": [], "apple_calls": [],
             "operator_claims": [], "audit_log": []}
            """),
        Example(
            "ForgetRequest", summary: "The player closed the account",
            """
            {"app": "com.example.game", "reason": "closed on 2026-11-20"}
            """),
        Example(
            "ForgetStatus", summary: "It is done",
            """
            {"id": "fgt_0123456789abcdef0123456789abcdef", "state": "finished", "requested_at": "2026-11-21T15:39:21.497Z",
             "finished_at": "2026-11-21T15:39:24.003Z", "changed": {"orders": 2, "events": 3}}
            """),
    ]

    /// Of what backends alone send and are answered.
    static let backend: [Example] = [
        Example(
            "SpendRequest", summary: "Thirty gems for a castle",
            """
            {"app": "com.example.game", "items": [{"item": "gem", "amount": 30}], "reference": "castle"}
            """),
        Example(
            "Spend", summary: "It is spent",
            """
            {"id": "spend_1", "app": "com.example.game", "environment": "production", "account": "player-1",
             "items": [{"item": "gem", "amount": 30}], "balances": [{"item": "gem", "amount": 70}],
             "reference": "castle", "created_at": "2026-11-21T15:39:21.497Z"}
            """),
        Example(
            "WebhookResend", summary: "All that was given up since an accident",
            """
            {"app": "com.example.game", "endpoint": "backend", "since": "2026-11-21T14:00:00Z", "reason": "restored to 14:00"}
            """),
        Example(
            "WebhooksResent", summary: "Twelve are sent again",
            """
            {"deliveries": 12, "groups": [{"endpoint": "backend", "state": "abandoned", "deliveries": 12}], "asked": true}
            """),
    ]
}
