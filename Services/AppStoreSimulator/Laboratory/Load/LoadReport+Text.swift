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
        rows += Self.rows(outcomes, indent: "  ")
        if !forgeries.isEmpty {
            let refused = forgeries.filter { $0.state == "rejected" }
            let asExpected = refused.count(where: \.isRefusedAsExpected)
            let shapeless = refused.count(where: \.isShapeless)
            rows.append(
                (
                    "forgeries",
                    "\(refused.count) of \(forgeries.count) refused, \(asExpected) for the expected reason"
                        + (shapeless > 0 ? " (\(shapeless) by intake, for their shape)" : "")
                ))
            rows += Self.rows(otherReasons, indent: "  ")
        }
        rows.append(
            ("HTTP", statuses.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")))
        rows.append(("retries", "\(retries)"))
        rows.append(("accept", Self.line(acceptLatency)))
        rows.append(("outcome", Self.line(outcomeLatency)))
        rows += kindRows
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

    /// Forgeries that were refused for another reason, by kind: `four_parts: header_invalid, not not_a_jws`.
    private var otherReasons: [String: Int] {
        forgeries.reduce(into: [:]) { counts, forgery in
            guard forgery.state == "rejected", !forgery.isRefusedAsExpected else { return }
            let reason = forgery.reason ?? forgery.problemCode ?? forgery.problem ?? "no reason"
            counts["\(forgery.kind): \(reason), not \(forgery.expectedReason)", default: 0] += 1
        }
    }

    /// Each kind of proof by itself, where there are several.
    private var kindRows: [(String, String)] {
        let kinds = byProof
        guard kinds.count > 1 else { return [] }
        return kinds.flatMap { kind, result in
            [("as \(kind.rawValue)", "\(result.settled) of \(result.purchases) purchases settled")]
                + Self.rows(result.outcomes, indent: "  ")
                + [("  accept", Self.line(result.acceptLatency)), ("  outcome", Self.line(result.outcomeLatency))]
        }
    }

    private static func rows(_ counts: [String: Int], indent: String) -> [(String, String)] {
        counts.sorted { $0.key < $1.key }.map { (indent + $0.key, "\($0.value)") }
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
            case accepted, settled, outcomes, acceptLatency, outcomeLatency, byProof, failures
        }

        func encode(to encoder: any Encoder) throws {
            try report.encode(to: encoder)
            var derived = encoder.container(keyedBy: DerivedKeys.self)
            try derived.encode(report.accepted, forKey: .accepted)
            try derived.encode(report.settled, forKey: .settled)
            try derived.encode(report.outcomes, forKey: .outcomes)
            try derived.encodeIfPresent(report.acceptLatency, forKey: .acceptLatency)
            try derived.encodeIfPresent(report.outcomeLatency, forKey: .outcomeLatency)
            let byProof = Dictionary(uniqueKeysWithValues: report.byProof.map { ($0.kind.rawValue, $0.result) })
            try derived.encode(byProof, forKey: .byProof)
            try derived.encode(report.failures, forKey: .failures)
        }
    }
}
