import ServiceRuntime

/// What players, backends and addresses may ask of one process; what each means stands where it is read.
struct IntakeLimits: Sendable {
    var intentsPerDay: Int
    var sweepsPerDay: Int
    var appPostsPerMinute: Int
    var accountPostsPerMinute: Int
    var accountIdsPerMinute: Int
    var accountReadsPerMinute: Int
    var accountSignaturesPerMinute: Int
    var accountWaitsMaximum: Int
    var streamsMaximum: Int
    var accountStreamsMaximum: Int
    var streamHeartbeat: Duration
    var streamStallTime: Duration
    var addressWaitsPercent: Int
    var addressNotificationsMaximum: Int
    var addressRequestsPerMinute: Int

    /// - Throws: `SettingError`.
    init(_ settings: SettingReader) throws(SettingError) {
        // purchase intents that an account may open within 24 hours
        intentsPerDay = try settings.int("intake.intents_per_day", default: 1000, in: 1...1_000_000)
        // sweeps that the backends of an app may ask for within 24 hours
        sweepsPerDay = try settings.int("intake.sweeps_per_day", default: 1000, in: 1...1_000_000)
        // proofs that the server API keys of an app may post, a quarter of a second's at once, where its entry has no
        // `backend_posts_per_minute`; 0: no limit
        appPostsPerMinute = try settings.int(
            "intake.app_posts_per_minute", default: 6000, in: 0...AppsFile.App.backendPostsMaximum)
        // proofs that a player may post, a second's at once
        accountPostsPerMinute = try settings.int(
            "intake.account_posts_per_minute", default: 600, in: 1...1_000_000)
        // of these, ids about which Apple is asked
        accountIdsPerMinute = try settings.int("intake.account_ids_per_minute", default: 30, in: 1...1_000_000)
        // orders, accounts and outcomes that a player may ask for
        accountReadsPerMinute = try settings.int(
            "intake.account_reads_per_minute", default: 1200, in: 1...1_000_000)
        // subscription offers that a player may have signed
        accountSignaturesPerMinute = try settings.int(
            "intake.account_signatures_per_minute", default: 30, in: 1...1_000_000)
        // requests of a player that may wait for something at a time
        accountWaitsMaximum = try settings.int("intake.account_waits_maximum", default: 20, in: 1...100_000)
        // streams of events that may be open at a time
        streamsMaximum = try settings.int("intake.streams_maximum", default: 1000, in: 0...100_000)
        // of one account
        accountStreamsMaximum = try settings.int("intake.account_streams_maximum", default: 5, in: 0...10_000)
        // seconds after which a stream without events has a line; its credentials are checked then
        streamHeartbeat = try settings.duration(
            "intake.stream_heartbeat", default: .seconds(15), in: .milliseconds(100)...(.seconds(300)))
        // seconds after which a reader that does not take what is written is dropped
        streamStallTime = try settings.duration(
            "intake.stream_stall_time", default: .seconds(10), in: .milliseconds(100)...(.seconds(300)))
        // of the places to wait for outcomes, versions and events, and of the streams, how many percent the players at
        // one address may have; 100: no limit
        addressWaitsPercent = try settings.int("intake.address_waits_percent", default: 25, in: 1...100)
        // notifications from one address that may be read at a time
        addressNotificationsMaximum = try settings.int(
            "intake.address_notifications_maximum", default: 50, in: 1...100_000)
        // requests from an address, an IPv6 network of 64 bits counted as one; 0: no limit
        addressRequestsPerMinute = try settings.int(
            "intake.address_requests_per_minute", default: 6000, in: 0...10_000_000)
    }
}
