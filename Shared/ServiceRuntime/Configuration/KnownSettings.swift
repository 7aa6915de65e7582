import Yams

/// The settings of all processes: one file may be for several of them, so each knows the others' as well.
///
/// A test compares the list with what the sources read.
enum KnownSettings {
    /// Dotted keys.
    static let keys: Set<String> = [
        "admin.host", "admin.port", "alarm.age", "app_store.production_url", "app_store.sandbox_url", "apple_calls",
        "apple_calls.interval", "apps.file", "apps.interval", "batch.maximum", "breaker.probe_delay",
        "breaker.probe_delay_maximum", "catalogue.file", "catalogue.interval", "console.apps", "console.assets",
        "console.key", "console.key_file",
        "console.login", "console.oidc.client_id", "console.oidc.client_secret", "console.oidc.client_secret_file",
        "console.oidc.groups_claim", "console.oidc.issuer", "console.oidc.scopes", "console.people_file",
        "console.proxy.groups_header", "console.proxy.header", "console.public_url", "console.session_absolute",
        "console.session_idle", "console.site_url", "console.trusted_proxies", "delivery.breaker_failures",
        "delivery.breaker_pause", "delivery.concurrency",
        "delivery.concurrency_maximum", "delivery.disable_after", "delivery.lease", "delivery.look_interval",
        "delivery.retry_schedule", "delivery.timeout", "event.alarm_age", "event.lease", "event.lease_maximum",
        "expired_certificates.receipts", "expired_certificates.signed_data", "expired_certificates.tolerance",
        "finish.delay", "forward.interval", "http.host", "http.port", "instance", "intake.account_ids_per_minute",
        "intake.account_posts_per_minute", "intake.account_reads_per_minute", "intake.account_signatures_per_minute",
        "intake.account_streams_maximum", "intake.account_waits_maximum",
        "intake.address_notifications_maximum", "intake.address_requests_per_minute", "intake.address_waits_percent",
        "intake.app_posts_per_minute", "intake.body_bytes_maximum",
        "intake.client_address_header", "intake.connections_maximum", "intake.held_bytes_maximum",
        "intake.intents_per_day", "intake.key_set_interval", "intake.notification_time", "intake.queue_maximum",
        "intake.request_time",
        "intake.stream_heartbeat", "intake.stream_stall_time", "intake.streams_maximum", "intake.sweeps_per_day",
        "intake.trusted_proxies", "intake.url",
        "intake.waiters_maximum", "kafka.bootstrap_servers", "kafka.fetch_wait",
        "kafka.properties_file", "kafka.session_timeout", "log.format", "log.level", "log.priorities",
        "lookups.in_flight_maximum", "lookups.patience", "not_found_age", "ocsp", "ocsp.responder_url",
        "postgres.pool_size", "postgres.prepared_statements", "postgres.url", "postgres.url_file",
        "rate.orders_per_second", "rate.per_second", "rate.share", "rate.tokens_per_second", "receipt.roots",
        "receipt.sha1_until",
        "redrive.interval", "retention.apple_calls", "retention.attempts", "retention.deliveries", "retention.events",
        "retention.notifications", "retention.proofs", "retention.recoveries", "retention.rejected",
        "retention.rejected_proofs", "retention.views", "retry.delay_maximum", "reversal.device_delay",
        "shutdown.timeout", "submission.lease", "sweep",
        "sweep.failures_interval", "sweep.history_interval", "sweep.in_flight_maximum",
        "sweep.intent_delay", "sweep.interval", "sweep.lease", "sweep.notifications_interval",
        "sweep.notifications_lookback", "sweep.notifications_overlap", "sweep.plan_interval", "sweep.refunds_interval",
        "sweep.share_percent", "sweep.statuses_interval", "trusted.denied_certificates", "trusted.foreign_roots",
        "trusted.roots", "verify_receipt.production_url", "verify_receipt.sandbox_url", "webhooks", "webhooks.file",
        "webhooks.interval", "webhooks.key", "webhooks.key_file", "webhooks.private_addresses", "xcode.certificates",
    ]

    /// A key of a configuration file that has no meaning.
    struct Unknown: Equatable {
        let key: String
        /// Counted from 1.
        let line: Int?
    }

    /// The first key of a file that is none of ``keys``; nil for a text that is no mapping.
    static func firstUnknown(in text: String) -> Unknown? {
        guard let root = try? Yams.compose(yaml: text) else { return nil }
        return firstUnknown(in: root, below: "")
    }

    private static func firstUnknown(in node: Node, below prefix: String) -> Unknown? {
        guard let mapping = node.mapping else { return nil }
        for pair in mapping {
            let name = pair.key.string ?? "?"
            let key = prefix + name
            // Levels are mappings, not points in a name.
            if name.contains(".") { return Unknown(key: key, line: pair.key.mark?.line) }
            if pair.value.mapping != nil {
                if let unknown = firstUnknown(in: pair.value, below: key + ".") { return unknown }
            } else if !keys.contains(key) {
                return Unknown(key: key, line: pair.key.mark?.line)
            }
        }
        return nil
    }
}
