import ServiceRuntime

/// The limits of delivering; what each means stands where it is read, in ``init(_:)``.
struct DeliverySettings: Sendable {
    /// What a lease must be longer than the time-out: the claim's way here, and the way of the result back.
    static let leaseMargin = Duration.seconds(10)

    var lease = Duration.seconds(60)
    var timeout = Duration.seconds(15)
    var schedule = RetrySchedule.standardWebhooks
    var concurrencyPerEndpoint = 64
    var concurrencyMaximum = 256
    var breaker = EndpointBreaker.Settings()
    var lookInterval = Duration.seconds(5)
    var disableAfter = Duration.seconds(5 * 86_400)
    /// How long after its first failure past `disableAfter` an endpoint must fail again to be switched off.
    var disableConfirmation = Duration.seconds(3_600)

    /// The defaults.
    init() {}

    /// Reads what is set.
    ///
    /// - Throws: `SettingError`, also for a lease that an attempt could outlast: two processes would then send the
    ///   same delivery at the same time.
    init(_ settings: SettingReader) throws(SettingError) {
        // seconds one attempt may take in all; the lease is at least 10 longer
        timeout = try settings.duration("delivery.timeout", default: timeout, in: .milliseconds(100)...(.seconds(120)))
        // seconds until another process may try a delivery whose process died
        lease = try settings.duration("delivery.lease", default: lease)
        guard lease >= timeout + Self.leaseMargin else {
            throw .invalid(
                "delivery.lease", expected: "at least \(Self.leaseMargin) longer than the time-out of \(timeout)",
                found: "\(lease)")
        }
        // seconds between attempts, with commas
        // Default: Standard Webhooks, to 75 h
        let texts = try settings.stringList("delivery.retry_schedule")
        if !texts.isEmpty {
            guard let chosen = RetrySchedule(secondsTexts: texts) else {
                throw .invalid(
                    "delivery.retry_schedule", expected: "seconds with commas, such as 5,300,1800",
                    found: texts.joined(separator: ","))
            }
            schedule = chosen
        }
        // attempts at a time to one endpoint
        concurrencyPerEndpoint = try settings.int("delivery.concurrency", default: concurrencyPerEndpoint, in: 1...1024)
        // attempts at a time in all; half of them are shared out, so that no endpoint takes another's
        // Default: 256
        concurrencyMaximum = try settings.int(
            "delivery.concurrency_maximum", default: max(concurrencyMaximum, concurrencyPerEndpoint), in: 1...4096)
        // failures in a row after which an endpoint is sent one webhook at a time, with pauses
        // Default: 5
        breaker.failures = try settings.int("delivery.breaker_failures", default: breaker.failures, in: 1...1_000)
        // seconds, the longest of these pauses; the first is 1
        // Default: 30
        breaker.pauseMaximum = try settings.duration(
            "delivery.breaker_pause", default: breaker.pauseMaximum, in: .milliseconds(1)...(.seconds(3_600)))
        breaker.pause = min(breaker.pause, breaker.pauseMaximum)
        // seconds between looks for what other processes left due
        lookInterval = try settings.duration(
            "delivery.look_interval", default: lookInterval, in: .milliseconds(100)...(.seconds(60)))
        // seconds of nothing but failure that switch an endpoint off
        // Default: 432000, 5 days
        disableAfter = try settings.duration("delivery.disable_after", default: disableAfter)
    }
}
