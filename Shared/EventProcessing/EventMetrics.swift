package import ServiceRuntime

/// What the metrics mean that every process has which reads or writes topics.
package enum EventMetrics {
    /// To be given to `PrometheusMetrics.describe(_:)`.
    package static let families: [MetricFamily] = [
        .counter("countersign_messages_handled_total", ["topic"], help: "Messages that were read and done with."),
        .counter(
            "countersign_messages_skipped_total", ["topic"],
            help: "Messages of a type that this version does not know."),
        .counter(
            "countersign_messages_published_total", ["topic", "result"],
            help: "Messages that were sent, by result: delivered or failed; what failed is sent again once it is due."),
        .counter(
            "countersign_dead_letters_total", ["topic"],
            help: "Messages that could not be processed, kept in countersign.dead-letters."),
        .counter(
            "countersign_dead_letters_shortened_total", ["topic"],
            help: "Dead letters that were kept without their value."),
        .gauge(
            "countersign_consumer_lag_records", ["topic"],
            help:
                "Records that the group has not committed; each member tells of all partitions, so take the maximum."
        ),
        .gauge(
            "countersign_consumer_buffered_records", ["topic"], help: "Records that were fetched and not handled yet."),
        .gauge(
            "countersign_consumer_assigned_partitions", ["topic"], help: "Partitions that this process holds."),
        .gauge("countersign_consumer_paused", ["topic"], help: "1 while this process takes no records on purpose."),
        .gauge(
            "countersign_consumer_stalled", ["topic"], help: "1 while records wait and there is no progress."),
        .counter(
            "countersign_consumer_replacements_total", ["topic"],
            help: "New clients that were made because one stalled."),
        .counter(
            "countersign_consumer_failed_batches_total", ["topic"],
            help: "Batches that could not be handled and come again."),
        .gauge(
            "countersign_kafka_client_failing", ["client"],
            help: "1 while a producer or a tail reader has an error that does not pass by itself."),
        .counter("countersign_redriven_total", ["what"], help: "Rows that were due and were sent again."),
        .gauge(
            "countersign_database_connections", ["state"], help: "Connections of the pool, by state: leased or idle."),
        .gauge("countersign_database_waiters", help: "Tasks that wait for a connection of the pool."),
    ]
}
