import Metrics
import Persistence

/// Takes in what Apple signed and nobody told us of: it becomes a submission that is due, like anything that was posted, and is
/// marked as recovered.
struct RecoverFindings: Sendable {
    let recoveries: RecoveryStore
    let submissions: SubmissionStore

    /// The submissions of these that are there already.
    ///
    /// - Throws: `PostgresError`.
    func known(_ ids: [String]) async throws -> Set<String> {
        guard !ids.isEmpty else { return [] }
        return try await recoveries.known(submissions: ids)
    }

    /// Writes findings down; each is due at once when this returns, and any intake sends it.
    ///
    /// The mark comes first: a worker that dies between the two finds the same again.
    ///
    /// - Returns: how many were new.
    /// - Throws: `PostgresError`.
    func takeIn(_ findings: [SweepFinding], by task: SweepTask) async throws -> Int {
        guard !findings.isEmpty else { return 0 }
        let ids = try await recoveries.note(findings.map(\.recovery), by: task)
        var new: [String: SubmissionStore.NewSubmission] = [:]
        for finding in findings where ids.contains(finding.recovery.submissionId) {
            new[finding.recovery.submissionId] = finding.submission
        }
        guard !new.isEmpty else { return 0 }
        let accepted = try await submissions.accept(Array(new.values), lease: .zero)
        Counter(
            label: "countersign_sweep_found_total",
            dimensions: [("kind", task.kind.rawValue), ("cause", task.cause.rawValue)]
        ).increment(by: accepted.new.count)
        return accepted.new.count
    }
}
