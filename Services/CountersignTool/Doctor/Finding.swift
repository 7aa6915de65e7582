import Persistence

/// One thing that the doctor looked at.
typealias Finding = DoctorRemark

extension Finding {
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
