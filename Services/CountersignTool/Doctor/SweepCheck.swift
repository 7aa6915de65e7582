import Persistence

/// Says what is paid and not delivered in all, and whether Apple is asked for unreported purchases.
enum SweepCheck {
    enum Limit {
        /// A question that is due for longer than this waits for somebody.
        static let lateSeconds = 3_600.0
        /// What is paid may take so long to be delivered without being a warning.
        static let undelivered = Duration.seconds(600)
    }

    /// - Parameter groups: production's, and what is not decided.
    static func judge(lost groups: [LostPurchasesStore.Group]) -> Finding {
        let subject = "lost purchases"
        let count = groups.reduce(0) { $0 + $1.count }
        guard count > 0 else { return .good(subject, "nothing is paid and not delivered for long") }
        guard groups.contains(where: { LostRemedies.needsSomebody($0.stage, $0.reason) }) else {
            return .good(subject, "\(count) are unclaimed, and nothing else is paid and not delivered for long")
        }
        let parts = groups.map { "\($0.count) \($0.stage) for \($0.reason)" }.joined(separator: ", ")
        let oldest = groups.map(\.oldestSeconds).max() ?? 0
        return .warning(
            subject,
            "\(count) paid, or perhaps paid, and not delivered, the oldest for \(ToolOutput.age(oldest)): \(parts)",
            remedy: "`countersign undelivered` lists them with what to do")
    }

    /// - Parameters:
    ///   - looks: when each app's notifications were compared last; empty where nobody ever did.
    ///   - apps: those with orders whose notifications nobody compares.
    static func judge(_ looks: [SweepTaskStore.Look], unasked apps: [String]) -> Finding {
        let subject = "sweep"
        guard apps.isEmpty else {
            return .warning(
                subject, "Apple has never been asked for unreported purchases of \(apps.joined(separator: ", "))",
                remedy: "give the verification workers COUNTERSIGN_POSTGRES_URL, and each app a key of the App Store "
                    + "Server API (app_store_server_api)")
        }
        guard !looks.isEmpty else { return .good(subject, "nothing is sold yet, and Apple was not asked for more") }
        let late = looks.filter { $0.overdueSeconds > Limit.lateSeconds }
        guard let worst = late.max(by: { $0.overdueSeconds < $1.overdueSeconds }) else {
            let oldest = looks.compactMap(\.coveredSeconds).max() ?? 0
            return .good(
                subject,
                "Apple's notifications of \(Set(looks.map(\.app)).count) apps are compared, the last good point is "
                    + "\(ToolOutput.age(oldest)) old at most")
        }
        return .warning(
            subject,
            "Apple's notifications of \(worst.app) (\(worst.environment)) are not compared, overdue for "
                + ToolOutput.age(worst.overdueSeconds) + (worst.lastError.map { ": \($0)" } ?? ""),
            remedy:
                "is a verification-worker running with the database and COUNTERSIGN_SWEEP=on? `countersign apple check "
                + "\(worst.app)` tries the key")
    }
}
