extension OpenAPIExamples {
    /// Of endpoints of webhooks.
    static let endpoints: [Example] = [
        Example(
            "EndpointCreate", summary: "Refunds of real purchases alone",
            """
            {"app": "com.example.game", "url": "https://hooks.example.com/iap", "description": "refunds to support",
             "events": ["iap.refund.*"], "environments": ["production"], "reason": "asked for by support"}
            """),
        Example(
            "EndpointChange", summary: "It moves to another address",
            """
            {"app": "com.example.game", "url": "https://hooks.example.net/iap", "reason": "the backend moves"}
            """),
        Example(
            "EndpointAct", summary: "Whose endpoint it is, and why",
            """
            {"app": "com.example.game", "reason": "the backend moves"}
            """),
        Example(
            "EndpointRotation", summary: "The secret before signs for a day longer",
            """
            {"app": "com.example.game", "expires_in": 86400, "reason": "once a year"}
            """),
        Example(
            "WebhookEndpoint", summary: "An endpoint that is on",
            """
            {"id": "we_3f0c6a9b1e83754d2f0c6a9b1e83754d", "app": "com.example.game", "url": "https://hooks.example.com/iap",
             "description": "refunds to support", "events": ["iap.refund.*"], "environments": ["production"],
             "schema_version": "2026-11-01", "ordered": false, "enabled": true,
             "succeeded_at": "2026-11-21T15:41:00.104Z", "created_at": "2026-11-21T15:39:21.497Z",
             "changed_at": "2026-11-21T15:39:21.497Z",
             "secrets": [{"id": "ws_0d7c5b1f2a4e6c80", "scheme": "v1", "created_at": "2026-11-21T15:39:21.497Z"}],
             "last_ping": {"id": "ping_0b1d3c5e7f904a2b8c4d6e8f0a1b2c3d", "state": "delivered",
               "asked_at": "2026-11-21T15:40:02.000Z", "finished_at": "2026-11-21T15:40:02.840Z", "status": 204,
               "milliseconds": 38}}
            """),
        Example(
            "WebhookEndpointMade", summary: "The secret is told this once",
            """
            {"id": "we_3f0c6a9b1e83754d2f0c6a9b1e83754d", "app": "com.example.game", "url": "https://hooks.example.com/iap",
             "description": "refunds to support", "events": ["iap.refund.*"], "environments": ["production"],
             "schema_version": "2026-11-01", "ordered": false, "enabled": true, "created_at": "2026-11-21T15:39:21.497Z",
             "changed_at": "2026-11-21T15:39:21.497Z",
             "secrets": [{"id": "ws_0d7c5b1f2a4e6c80", "scheme": "v1", "created_at": "2026-11-21T15:39:21.497Z"}],
             "secret": "whsec_VGhpcyBpcyBhbiBleGFtcGxlLCBubyBzZWNyZXQu"}
            """),
        Example(
            "WebhookEndpoints", summary: "An app that has none",
            """
            {"endpoints": []}
            """),
        Example(
            "WebhookEndpointRemoved", summary: "It is removed",
            """
            {"id": "we_3f0c6a9b1e83754d2f0c6a9b1e83754d", "removed": true}
            """),
        Example(
            "WebhookPing", summary: "It was not taken",
            """
            {"id": "ping_0b1d3c5e7f904a2b8c4d6e8f0a1b2c3d", "state": "failed", "asked_at": "2026-11-21T15:40:02.000Z",
             "finished_at": "2026-11-21T15:40:02.840Z", "status": 503, "error": "status 503: busy", "milliseconds": 38}
            """),
    ]

    /// Of deliveries, and of events that are pulled.
    static let events: [Example] = [
        Example(
            "WebhookDeliveries", summary: "One waits for its next attempt",
            """
            {"deliveries": [{"event": "evt_0000000000000000000000000199a000", "type": "iap.transaction.fulfilled",
               "environment": "production", "endpoint": "backend", "state": "pending", "attempts": 2,
               "created_at": "2026-11-21T15:39:22.110Z", "next_attempt_at": "2026-11-21T15:44:40.000Z",
               "waits_for_turn": false, "last_status": 503, "last_error": "status 503: busy"}]}
            """),
        Example(
            "WebhookAttempts", summary: "One was answered, and one was not",
            """
            {"event": "evt_0000000000000000000000000199a000", "endpoint": "backend",
             "attempts": [{"number": 1, "at": "2026-11-21T15:39:22.120Z", "milliseconds": 38, "status": 503, "answer": "busy"},
               {"number": 2, "at": "2026-11-21T15:39:27.610Z", "milliseconds": 15000, "error": "no complete answer within 15.0 seconds"}]}
            """),
        Example(
            "EventPage", summary: "An account was given gems by hand",
            """
            {"events": [{"id": "evt_0000000000000000000000000199a001", "type": "iap.account.adjusted",
               "timestamp": "2026-11-21T15:39:22.104Z", "schema_version": "2026-11-01", "environment": "production",
               "app": "com.example.game", "customer": {"id": "player-1", "sequence": 2},
               "correlation_id": "req_4d2f0c6a9b1e8375",
               "data": {"entries": [{"item": "gem", "amount": 50}], "entitlements": []}}],
             "more": false, "next": "MToxNzk1Mjc1NTYyMTA0MDAw"}
            """),
        Example(
            "AccountEventPage", summary: "What the player's app is told of it",
            """
            {"events": [{"id": "evt_0000000000000000000000000199a001", "type": "iap.account.adjusted",
               "timestamp": "2026-11-21T15:39:22.104Z", "schema_version": "2026-11-01", "environment": "production",
               "app": "com.example.game", "customer": {"id": "player-1", "sequence": 2},
               "data": {"entries": [{"item": "gem", "amount": 50}], "entitlements": []}}],
             "more": false, "next": "MToxNzk1Mjc1NTYyMTA0MDAw"}
            """),
    ]

    /// Of sweeps that are asked for.
    static let sweeps: [Example] = [
        Example(
            "SweepRequest", summary: "Player-1 wrote to support",
            """
            {"app": "com.example.game", "account": "player-1", "reason": "ticket 4711: paid, and no gems"}
            """),
        Example(
            "Sweep", summary: "A purchase was found, and granted",
            """
            {"id": "swp_0123456789abcdef0123456789abcdef", "state": "finished", "requested_at": "2026-11-21T15:39:21.497Z",
             "finished_at": "2026-11-21T15:39:24.003Z", "questions": 3, "questions_left": 0, "calls": 4, "found": 1,
             "recovered": [{"environment": "production", "transaction_id": "2000000000000013", "state": "granted"}]}
            """),
    ]
}
