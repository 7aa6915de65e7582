import ServiceRuntime

/// The limits of delivering; `Configuration` lists their keys.
struct DeliverySettings: Sendable {
    /// What a lease must be longer than the time-out: the claim's way here, and the way of the result back.
    static let leaseMargin = Duration.seconds(10)

    /// After how long another process may try a delivery whose process died.
    ///
    /// Default: 60 seconds.
    var lease = Duration.seconds(60)
    /// How long an attempt may take, from the name look-up to the end of the answer.
    ///
    /// Default: 15 seconds.
    var timeout = Duration.seconds(15)
    /// The pauses between attempts.
    ///
    /// Default: the schedule of Standard Webhooks.
    var schedule = RetrySchedule.standardWebhooks
    /// Attempts at a time to one endpoint.
    ///
    /// Default: 16.
    var concurrencyPerEndpoint = 16
    /// Attempts at a time in all; half of them are divided among the endpoints, so that each has its own.
    ///
    /// Default: 256.
    var concurrencyMaximum = 256
    /// When an endpoint that only fails is left alone.
    ///
    /// Default: after 5 failures in a row, for 1 to 30 seconds between attempts.
    var breaker = EndpointBreaker.Settings()
    /// The time between looks for what other processes left due.
    ///
    /// Default: 5 seconds.
    var lookInterval = Duration.seconds(5)
    /// How long an endpoint may do nothing but fail before it is switched off.
    ///
    /// Default: 5 days.
    var disableAfter = Duration.seconds(5 * 86_400)

    /// The defaults.
    init() {}

    /// Reads what is set.
    ///
    /// - Throws: `SettingError`, also for a lease that an attempt could outlast: two processes would then send the
    ///   same delivery at the same time.
    init(_ settings: SettingReader) throws(SettingError) {
        timeout = try settings.duration("delivery.timeout", default: timeout, in: .milliseconds(100)...(.seconds(120)))
        lease = try settings.duration("delivery.lease", default: lease)
        guard lease >= timeout + Self.leaseMargin else {
            throw .invalid(
                "delivery.lease", expected: "at least \(Self.leaseMargin) longer than the time-out of \(timeout)",
                found: "\(lease)")
        }
        let texts = try settings.stringList("delivery.retry_schedule")
        if !texts.isEmpty {
            guard let chosen = RetrySchedule(secondsTexts: texts) else {
                throw .invalid(
                    "delivery.retry_schedule", expected: "seconds with commas, such as 5,300,1800",
                    found: texts.joined(separator: ","))
            }
            schedule = chosen
        }
        concurrencyPerEndpoint = try settings.int("delivery.concurrency", default: concurrencyPerEndpoint, in: 1...1024)
        concurrencyMaximum = try settings.int(
            "delivery.concurrency_maximum", default: max(concurrencyMaximum, concurrencyPerEndpoint), in: 1...4096)
        breaker.failures = try settings.int("delivery.breaker_failures", default: breaker.failures, in: 1...1_000)
        breaker.pauseMaximum = try settings.duration(
            "delivery.breaker_pause", default: breaker.pauseMaximum, in: .milliseconds(1)...(.seconds(3_600)))
        breaker.pause = min(breaker.pause, breaker.pauseMaximum)
        lookInterval = try settings.duration(
            "delivery.look_interval", default: lookInterval, in: .milliseconds(100)...(.seconds(60)))
        disableAfter = try settings.duration("delivery.disable_after", default: disableAfter)
    }
}
