import ServiceRuntime

/// What the metrics of the worker mean.
enum WorkerMetrics {
    static let families: [MetricFamily] = [
        .counter("countersign_verdicts_total", ["verdict", "reason"], help: "Verdicts, by kind and reason."),
        .counter(
            "countersign_notifications_judged_total", ["type"],
            help: "Notifications that Apple signed, by their type; unknown types count as other."),
        .counter(
            "countersign_unknown_fields_total", ["field"],
            help: "Fields that Apple signed and this version does not know, by name; beyond 100 names, as other."),
        .counter(
            "countersign_expired_certificates_total", ["kind"],
            help: "Proofs that are in doubt, because their certificates had expired when they came."),
        .counter(
            "countersign_attention_total", ["reason"],
            help: "Faults that a person must fix, such as a key that Apple refuses."),
        .counter(
            "countersign_app_store_calls_total", ["host", "outcome"],
            help: "Calls of Apple's servers, by what came of them."),
        .counter(
            "countersign_app_store_answers_total", ["host", "status", "code"],
            help: "Answers of Apple's servers, by HTTP status and Apple's error code; none where there was none."),
        .histogram(
            "countersign_app_store_call_duration_seconds", ["host"],
            help: "How long a call took, without waiting for its turn."),
        .counter(
            "countersign_apple_calls_total", ["kind", "result"],
            help: """
                Queued calls to Apple that were attempted: consumption, finish, account_token, extension; done, retry, refused, lapsed.
                """),
        .gauge(
            "countersign_app_store_breaker_open", ["host", "use"],
            help: "1 while the host rests because it does not answer: for lookups, or for calls in the background."),
        .counter(
            "countersign_app_store_budget_refusals_total", ["host"],
            help: "Calls that were put off, because their budget had no room in time."),
        .gauge(
            "countersign_app_store_budget_tokens", ["app", "host", "class"],
            help: "Calls that this process may make at once: what is left of its share of Apple's limit."),
        .gauge(
            "countersign_app_store_budget_waiting", ["app", "host", "class"], help: "Calls that wait for their turn."),
        .gauge(
            "countersign_app_store_budget_closed_seconds", ["app", "host", "class"],
            help: "For how long Apple's last 429 still keeps this budget closed."),
        .gauge(
            "countersign_lookups_in_flight", ["kind"], help: "Lookups that wait for Apple, by what is looked up."),
        .counter(
            "countersign_sweep_rounds_total", ["kind", "outcome"],
            help: "Rounds of the sweep: done, put off (Apple is away, limits or refuses), interrupted, lost to another."
        ),
        .counter(
            "countersign_sweep_found_total", ["kind", "cause"],
            help: "What the sweep found signed by Apple and not in the books."),
        .gauge(
            "countersign_sweep_due", ["kind"],
            help: "Questions of the sweep that are due and not taken; 10,000 of a priority means at least as many."),
        .gauge(
            "countersign_sweep_due_oldest_age_seconds", ["kind"],
            help: "For how long the oldest of them has been due."),
    ]
}
