/// What came of a story.
struct StoryReport: Encodable, Sendable {
    /// What came of a step.
    struct Step: Encodable, Sendable {
        enum Result: String, Encodable, Sendable {
            case passed, failed, skipped
            /// An earlier step failed.
            case notReached = "not_reached"
        }

        /// Something that is not as it must be.
        struct Failure: Encodable, Sendable {
            /// What was looked at, such as `json data[0].status`.
            let what: String
            let expected: String
            let got: String
            /// Where the expectation stands; nil when it goes without saying.
            var line: Int?
        }

        let number: Int
        let line: Int
        let title: String
        var result = Result.passed
        /// What happened, in a few words.
        var events = ""
        var failures: [Failure] = []
    }

    let file: String
    let story: String
    let bundleId: String
    var steps: [Step] = []
    /// Why it could not be played to its end; nil when it was.
    var problem: String?

    var passed: Bool { problem == nil && !steps.contains { $0.result == .failed || $0.result == .notReached } }

    private enum CodingKeys: CodingKey { case file, story, bundleId, passed, problem, steps }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(file, forKey: .file)
        try container.encode(story, forKey: .story)
        try container.encode(bundleId, forKey: .bundleId)
        try container.encode(passed, forKey: .passed)
        try container.encodeIfPresent(problem, forKey: .problem)
        try container.encode(steps, forKey: .steps)
    }

    /// The story's heading.
    static func heading(_ story: String, _ bundleId: String) -> String { "\(story)  (\(bundleId))" }

    /// The last line of a story.
    var summary: String {
        func count(_ result: Step.Result) -> Int { steps.count { $0.result == result } }
        var parts = ["\(count(.passed)) of \(steps.count) steps passed"]
        if count(.failed) > 0 { parts.append("\(count(.failed)) failed") }
        if count(.notReached) > 0 { parts.append("\(count(.notReached)) not reached") }
        if count(.skipped) > 0 { parts.append("\(count(.skipped)) SKIPPED: no --backend") }
        if let problem { parts = ["not played to its end: \(problem)"] }
        return "\(passed ? "✓" : "✗") \(story): \(parts.joined(separator: ", "))"
    }
}

extension StoryReport.Step {
    /// For people: a line, and what was expected and came where they differ.
    var text: String {
        let mark =
            switch result {
            case .passed: "✓"
            case .failed: "✗"
            case .skipped: "SKIPPED (no --backend)"
            case .notReached: "–"
            }
        var lines = ["  \(mark) \(number). \(title)\(events.isEmpty ? "" : "  → \(events)")"]
        for failure in failures {
            lines.append("      \(failure.what)\(failure.line.map { "  (line \($0))" } ?? "")")
            lines.append("        expected: \(failure.expected)")
            lines.append("        came:     \(failure.got)")
        }
        return lines.joined(separator: "\n")
    }
}
