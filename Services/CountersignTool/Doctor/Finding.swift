/// One thing that the doctor looked at.
struct Finding: Codable, Sendable, Equatable {
    /// How it is.
    enum Level: String, Codable, Sendable {
        case good, warning, wrong
    }

    let level: Level
    /// What was looked at.
    let subject: String
    /// How it is, in a sentence.
    let detail: String
    /// What to do about it.
    let remedy: String?

    static func good(_ subject: String, _ detail: String) -> Finding {
        Finding(level: .good, subject: subject, detail: detail, remedy: nil)
    }

    static func warning(_ subject: String, _ detail: String, remedy: String) -> Finding {
        Finding(level: .warning, subject: subject, detail: detail, remedy: remedy)
    }

    static func wrong(_ subject: String, _ detail: String, remedy: String) -> Finding {
        Finding(level: .wrong, subject: subject, detail: detail, remedy: remedy)
    }

    /// A line, and one more for what to do.
    var text: String {
        let mark =
            switch level {
            case .good: "ok     "
            case .warning: "warning"
            case .wrong: "WRONG  "
            }
        return "\(mark) \(ToolOutput.padded(subject, 14)) \(detail)"
            + (remedy.map { "\n\(String(repeating: " ", count: 22)) → \($0)" } ?? "")
    }
}
