import Foundation

/// What a load did and what came of it: printed as text, written as JSON.
struct LoadReport: Codable, Sendable {
    /// One genuine purchase.
    struct Purchase: Codable, Sendable {
        let transactionId: String
        let originalTransactionId: String
        let account: String
        /// The submission's id; nil when it was never accepted.
        var submissionId: String?
        /// `received` until it has an outcome; nil when it was never accepted.
        var state: String?
        var reason: String?
        var finish: Bool?
        /// From the first attempt until it was accepted, in milliseconds.
        var acceptedMilliseconds: Double?
        /// From the first attempt until its outcome was known, in milliseconds.
        var outcomeMilliseconds: Double?
        /// What went wrong last.
        var problem: String?

        var isSettled: Bool { state.map { $0 != "received" } ?? false }
    }

    /// One forgery.
    struct Forgery: Codable, Sendable {
        let kind: String
        let expectedReason: String
        let account: String
        var submissionId: String?
        /// `rejected`, also where intake refused it at the door; nil when no answer came.
        var state: String?
        var reason: String?
        var problem: String?

        var isBreach: Bool { state == "fulfilled" || state == "parked" }
    }

    let app: String
    let product: String
    let environment: String
    let seed: UInt64
    let startedAt: String
    /// Requests that posted something, without retries: purchases, duplicates and forgeries.
    let sent: Int
    let duplicates: Int
    let retries: Int
    /// Duplicates that were answered with another submission id than the first copy; must be none.
    let mismatchedIds: Int
    /// Answers by HTTP status; `unreachable` where none came.
    let statuses: [String: Int]
    /// From the first post to the last answer of a post, in seconds.
    let postingSeconds: Double
    /// Until the last outcome was known.
    let settlingSeconds: Double
    let purchases: [Purchase]
    let forgeries: [Forgery]

    var accepted: Int { purchases.count { $0.submissionId != nil } }
    var settled: Int { purchases.count { $0.isSettled } }
    var acceptLatency: Percentiles? { Percentiles(purchases.compactMap(\.acceptedMilliseconds)) }
    var outcomeLatency: Percentiles? { Percentiles(purchases.compactMap(\.outcomeMilliseconds)) }

    /// Purchases by state, with the reason where there is one: `fulfilled`, `rejected: sandbox_refused`.
    var outcomes: [String: Int] {
        purchases.reduce(into: [:]) { counts, purchase in
            let state = purchase.state ?? "not accepted"
            counts[purchase.reason.map { "\(state): \($0)" } ?? state, default: 0] += 1
        }
    }

    /// What must not be, a sentence each; empty after a good run.
    var failures: [String] {
        var failures: [String] = []
        let open = purchases.count { !$0.isSettled }
        if open > 0 { failures.append("\(open) genuine purchases have no outcome") }
        let breaches = forgeries.count(where: \.isBreach)
        if breaches > 0 { failures.append("\(breaches) forgeries were taken for genuine") }
        if mismatchedIds > 0 { failures.append("\(mismatchedIds) duplicates got another submission id") }
        return failures
    }
}

extension LoadReport {
    /// The report as a person reads it.
    var text: String {
        var rows: [(String, String)] = [
            (
                "sent",
                "\(sent) requests: \(purchases.count) purchases, \(duplicates) duplicates, \(forgeries.count) forgeries"
            ),
            ("accepted", "\(accepted) of \(purchases.count) purchases"),
            ("settled", "\(settled) of \(purchases.count) purchases"),
        ]
        rows += outcomes.sorted { $0.key < $1.key }.map { ("  " + $0.key, "\($0.value)") }
        if !forgeries.isEmpty {
            let refused = forgeries.filter { $0.state == "rejected" }
            let asExpected = refused.count { $0.reason == $0.expectedReason }
            rows.append(
                ("forgeries", "\(refused.count) of \(forgeries.count) refused, \(asExpected) for the expected reason"))
        }
        rows.append(
            ("HTTP", statuses.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")))
        rows.append(("retries", "\(retries)"))
        rows.append(("accept", Self.line(acceptLatency)))
        rows.append(("outcome", Self.line(outcomeLatency)))
        let posted = ToolOutput.number(Double(sent) / max(postingSeconds, 0.001), digits: 1)
        let settledRate = ToolOutput.number(Double(settled) / max(settlingSeconds, 0.001), digits: 1)
        rows.append(
            (
                "rate",
                "\(posted) posted/s over \(ToolOutput.number(postingSeconds, digits: 1)) s, \(settledRate) settled/s"
            ))
        let verdict =
            failures.isEmpty ? ["good: every genuine purchase has an outcome"] : failures.map { "FAILED: \($0)" }
        return (rows.map { ToolOutput.padded($0.0, 34) + $0.1 } + verdict).joined(separator: "\n")
    }

    private static func line(_ latency: Percentiles?) -> String {
        guard let latency else { return "none" }
        func text(_ milliseconds: Double) -> String { ToolOutput.number(milliseconds, digits: 1) }
        return "p50 \(text(latency.p50)) ms, p95 \(text(latency.p95)) ms, p99 \(text(latency.p99)) ms, "
            + "max \(text(latency.max)) ms"
    }

    /// The report for programs, with what the text derives.
    ///
    /// - Throws: `EncodingError`.
    func json() throws -> String {
        try ToolOutput.json(Document(report: self))
    }

    /// The report's own fields, and beside them the derived ones.
    private struct Document: Encodable {
        let report: LoadReport

        enum DerivedKeys: String, CodingKey {
            case accepted, settled, outcomes, acceptLatency, outcomeLatency, failures
        }

        func encode(to encoder: any Encoder) throws {
            try report.encode(to: encoder)
            var derived = encoder.container(keyedBy: DerivedKeys.self)
            try derived.encode(report.accepted, forKey: .accepted)
            try derived.encode(report.settled, forKey: .settled)
            try derived.encode(report.outcomes, forKey: .outcomes)
            try derived.encodeIfPresent(report.acceptLatency, forKey: .acceptLatency)
            try derived.encodeIfPresent(report.outcomeLatency, forKey: .outcomeLatency)
            try derived.encode(report.failures, forKey: .failures)
        }
    }
}
