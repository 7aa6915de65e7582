import ServiceRuntime

/// What the metrics of fulfillment mean.
enum FulfillmentMetrics {
    static let undelivered = "countersign_purchases_undelivered"
    static let undeliveredAge = "countersign_purchases_undelivered_oldest_age_seconds"
    static let dueRows = "countersign_due_rows"
    static let dueAge = "countersign_due_rows_oldest_age_seconds"
    static let events = "countersign_events_without_delivery"
    static let openRequests = "countersign_refund_requests_open"
    static let requestSecondsLeft = "countersign_refund_request_seconds_left"
    static let eventsAge = "countersign_events_without_delivery_oldest_age_seconds"
    static let unnumberedAge = "countersign_events_unnumbered_oldest_age_seconds"

    static let monthsAhead = "countersign_partitions_ahead_seconds"
    static let monthsOverdue = "countersign_partitions_overdue"

    static let families: [MetricFamily] = [
        .gauge(
            "countersign_purchases_undelivered", ["stage", "environment", "reason"],
            help: """
                Purchases that may be paid and are not delivered: parked, which Apple signed for; undecided, which \
                have had no outcome for a minute; or untold, granted and given up by a webhook; 10,000 of a group means at least as many.
                """),
        .gauge(
            "countersign_purchases_undelivered_oldest_age_seconds", ["stage", "environment", "reason"],
            help: "Age of the oldest of them."),
        .gauge(
            "countersign_due_rows", ["table", "older_than_seconds"],
            help: """
                Rows that have been due for longer than that and were not taken yet, cumulative; 10,000 means at least \
                as many.
                """),
        .gauge(
            "countersign_due_rows_oldest_age_seconds", ["table"],
            help: "For how long the oldest of the due rows has been due."),
        .gauge(
            "countersign_events_without_delivery",
            help: """
                Events that the notification service has not taken over for too long, however often they were sent; \
                10,000 means at least as many.
                """),
        .gauge(
            "countersign_events_without_delivery_oldest_age_seconds",
            help: "For how long the oldest of them has waited; 0 where there is none."),
        .gauge(
            "countersign_partitions_ahead_seconds", ["table"],
            help: """
                For how long new rows of a table that is divided by month have a partition meant for them; 0 where they \
                go into the default one.
                """),
        .gauge(
            "countersign_partitions_overdue", ["table"],
            help: """
                Months whose retention is over and that stay: something in them is wanted, or somebody holds their table; the log \
                says which.
                """),
        .counter(
            "countersign_partitions_dropped_total", ["table"], help: "Months whose retention was over, and are gone."),
        .counter(
            "countersign_retention_rows_removed_total", ["what"],
            help: """
                What retention removed row by row: rejected_proofs, notifications, listed_notifications, rejected \
                submissions, apple_calls, recoveries, sweep_tasks.
                """),
        .counter("countersign_submissions_settled_total", ["state", "reason"], help: "Outcomes of submissions."),
        .counter("countersign_orders_granted_total", help: "Orders that were granted."),
        .counter(
            "countersign_orders_granted_elsewhere_total",
            help: "Orders that were recorded as granted by an older system, before its cut-over."),
        .counter(
            "countersign_orders_claimed_total", help: "Granted orders that had no account before."),
        .counter(
            "countersign_purchases_recovered_total",
            help: "Unreported orders, refunds and reversals that the sweep found at Apple."),
        .counter(
            "countersign_verdicts_without_submission_total",
            help: "Verdicts without a row of their submission: they grant nothing."),
        .counter(
            "countersign_verdicts_repeated_total",
            help: "Verdicts of signed transactions that were fulfilled before: they are dropped."),
        .counter("countersign_parked_orders_released_total", help: "Parked orders that were decided anew."),
        .counter(
            "countersign_subscriptions_ended_total", ["state"],
            help: "Subscriptions whose state the clock alone changed, by the new state."),
        .counter("countersign_entitlements_ended_total", help: "Ends of entitlements that were told of."),
        .counter(
            "countersign_submission_alarms_total", ["reason"],
            help: "Alarms that were raised for submissions too old without an outcome."),
        .gauge(
            "countersign_submissions_alarmed", ["reason"],
            help: "Submissions that have an alarm and no outcome; they stay due. 10,000 means at least as many."),
        .counter(
            "countersign_refund_requests_total",
            help: "Refunds that Apple asks about, each once however often it asks."),
        .gauge(
            "countersign_refund_requests_open", ["waits_for"],
            help: """
                Apple's refund requests that are not answered: for want of the player's consent, or they wait for fulfillment \
                (answer) or for the call to Apple (call).
                """),
        .gauge(
            "countersign_refund_request_seconds_left", ["waits_for"],
            help: "Until Apple takes no answer to the first of them any more; 0 where there is none."),
        .gauge(
            "countersign_catalogue_mistaken",
            help: "1 while the catalogue's file has a mistake, and the catalogue before it is in use."),
        .counter(
            "countersign_events_numbered_total",
            help: "Events that got a position in the order by which they are pulled."),
        .gauge(
            "countersign_events_unnumbered_oldest_age_seconds",
            help: "For how long the oldest event without such a position has been there; 0 where each has one."),
        .histogram("countersign_fulfillment_batch_size", help: "Verdicts that were settled in one commit."),
        .histogram("countersign_fulfillment_batch_seconds", help: "How long such a commit took, all told."),
    ]
}
