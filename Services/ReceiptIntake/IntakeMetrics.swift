import ServiceRuntime

/// What the metrics of intake mean.
enum IntakeMetrics {
    static let families: [MetricFamily] = [
        .counter(
            "countersign_purchase_answers_total", ["route", "state"],
            help: "Answers about purchases, by route and state."),
        .histogram(
            "countersign_purchase_answer_duration_seconds", ["route", "state"],
            help: "From the head of a request about a purchase to its answer, with the time that the app asked to wait."
        ),
        .counter("countersign_intents_total", help: "Intents that were opened."),
        .counter("countersign_sweep_requests_total", help: "Sweeps that backends asked for by POST /v1/sweeps."),
        .counter(
            "countersign_offer_signatures_total", ["kind", "caller"],
            help: "Subscription offers that were signed, by kind (promotional, introductory) and for whom they were."
        ),
        .counter(
            "countersign_notifications_total", ["result"],
            help: "Apple's notifications that were answered 200, by result: new or repeated."),
        .counter(
            "countersign_notifications_refused_total", ["reason"],
            help: """
                Notifications that the App Store did not sign, or that name no app, by the check that refused them; \
                nothing is kept.
                """),
        .counter(
            "countersign_server_key_uses_total", ["key", "fingerprint"],
            help: "Requests with a server API key, by its name and the first digits of its SHA-256."),
        .counter(
            "countersign_requests_limited_total", ["limit", "result"],
            help: "Requests of which one sender had too many, by limit and result: refused, held or hastened."),
        .counter("countersign_problems_total", ["code"], help: "Requests that were refused, by the problem's code."),
        .counter(
            "countersign_connections_closed_total", ["reason"],
            help: "Connections that were closed: slow_request, it took too long to arrive; room, too many were open."),
        .histogram("countersign_accept_batch_rows", help: "Submissions that were accepted in one commit."),
        .histogram("countersign_accept_duration_seconds", help: "How long such a commit took."),
        .counter(
            "countersign_spends_total", ["result"],
            help: "Spends, by result: spent, repeated, insufficient or key_reused."),
        .counter(
            "countersign_repeated_acts_total", ["result"],
            help: "Acts whose Idempotency-Key was known, by result: repeated, key_reused or under_way."),
        .gauge("countersign_event_streams", help: "Streams of events that are open."),
        .counter(
            "countersign_event_streams_ended_total", ["reason"],
            help: """
                Streams of events that ended: closed, the reader left; unread, it did not take what was written; credentials, they \
                are not good any more; expired, its cursor; stopping; failed, it could not be read.
                """),
        .gauge("countersign_waiters", help: "Requests that wait for an outcome."),
        .counter(
            "countersign_late_outcomes_total",
            help: "Requests that were told their outcome by a look into the database, because no hint of it had come."),
        .counter("countersign_waiters_refused_total", help: "Requests that could not wait, because too many did."),
        .gauge(
            "countersign_oldest_submission_age_seconds", help: "Age of the oldest submission without an outcome."),
        .gauge(
            "countersign_redrive_held",
            help: "1 while nothing is sent again, since the consumers lag behind by more than a lease."),
        .gauge(
            "countersign_redrive_lag_seconds",
            help: "How long what is sent takes through the workers and fulfillment; 0 when that is not known."),
        .counter(
            "countersign_publications_dropped_total",
            help: "Submissions left to the redriver, because too many waited for the broker."),
    ]
}
