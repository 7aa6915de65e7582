/// A performance test of a backend's Get Retention Message endpoint, and what came of it.
struct PerformanceTest: RetentionItem {
    /// What is asked of the backend: Apple's `PerformanceTestConfig`.
    ///
    /// Apple documents the response time alone (Initiate Performance Test: about 700 ms); the rest is the simulator's,
    /// small enough for a developer's machine.
    enum Configuration {
        static let maxConcurrentRequests = 5
        static let totalRequests = 20
        /// Milliseconds.
        static let totalDuration: Int64 = 10_000
        /// Milliseconds.
        static let responseTimeThreshold: Int64 = 700
        /// Per cent.
        static let successRateThreshold: Int64 = 95
    }

    enum Limit {
        /// A test that is not over after so many milliseconds is lost: the simulator was restarted.
        static let lostAfter = 3 * Configuration.totalDuration
    }

    static let kind = "performance-test"
    var key: String { requestId }
    /// A lower-case UUID.
    var requestId: String
    var originalTransactionId: String
    /// The URL that is tested.
    var target: String
    /// Milliseconds since 1970 of our own time, not the store's: the backend lives in it.
    var startedDate: Int64
    /// Nil while it runs.
    var outcome: Outcome?

    struct Outcome: Codable, Sendable {
        /// Of those that were answered in time and well, in milliseconds, ascending.
        var responseTimes: [Int64]
        /// By Apple's `sendAttemptResult`.
        var failures: [String: Int64]

        var attempts: Int64 { Int64(responseTimes.count) + failures.values.reduce(0, +) }

        /// Per cent of all that were to be made.
        var successRate: Int64 { Int64(responseTimes.count) * 100 / Int64(Configuration.totalRequests) }

        var passed: Bool { successRate >= Configuration.successRateThreshold }
    }

    func isRunning(realNow: Int64) -> Bool {
        outcome == nil && realNow < startedDate + Limit.lostAfter
    }

    /// Apple's `PerformanceTestResponse`.
    var startedJSON: String {
        var json = JSONText()
        json.add("config", json: Self.configurationJSON)
        json.add("requestId", requestId)
        return json.object
    }

    /// Apple's `PerformanceTestResultResponse`.
    func resultJSON(realNow: Int64) -> String {
        var json = JSONText()
        json.add("config", json: Self.configurationJSON)
        json.add("target", target)
        json.add("result", isRunning(realNow: realNow) ? "PENDING" : outcome?.passed == true ? "PASS" : "FAIL")
        json.add("successRate", outcome?.successRate ?? 0)
        json.add("numPending", Int64(Configuration.totalRequests) - (outcome?.attempts ?? 0))
        let times = outcome?.responseTimes ?? []
        if !times.isEmpty { json.add("responseTimes", json: Self.responseTimesJSON(times)) }
        var failures = JSONText()
        for (name, count) in (outcome?.failures ?? [:]).sorted(by: { $0.key < $1.key }) { failures.add(name, count) }
        if outcome?.failures.isEmpty == false { json.add("failures", json: failures.object) }
        return json.object
    }

    private static var configurationJSON: String {
        var json = JSONText()
        json.add("maxConcurrentRequests", Int64(Configuration.maxConcurrentRequests))
        json.add("totalRequests", Int64(Configuration.totalRequests))
        json.add("totalDuration", Configuration.totalDuration)
        json.add("responseTimeThreshold", Configuration.responseTimeThreshold)
        json.add("successRateThreshold", Configuration.successRateThreshold)
        return json.object
    }

    private static func responseTimesJSON(_ times: [Int64]) -> String {
        var json = JSONText()
        json.add("average", times.reduce(0, +) / Int64(times.count))
        // Nearest rank: the smallest time that so many per cent did not exceed.
        for percent in [50, 90, 95, 99] {
            json.add("p\(percent)", times[(times.count * percent + 99) / 100 - 1])
        }
        return json.object
    }
}
