import Persistence
import PurchaseModel

/// Says how what Apple is told fares, and when its test notification came last.
enum AppleCallCheck {
    enum Limit {
        /// What ended within so many days is told of.
        static let days = 7
        /// Seconds before a deadline from which on an open request is wrong: nobody seems to send it.
        static let secondsLeft = 6 * 3_600.0
    }

    static func judge(refunds: AppleCallReading.RefundRequests) -> [Finding] {
        let subject = "refunds"
        var findings: [Finding] = []
        if refunds.open > 0, let left = refunds.secondsLeft, left < Limit.secondsLeft {
            findings.append(
                .wrong(
                    subject,
                    "\(refunds.open) of Apple's refund requests have consent and no answer, "
                        + (left > 0 ? "\(ToolOutput.age(left)) before the deadline" : "past the deadline"),
                    remedy: "is a verification-worker running that has COUNTERSIGN_POSTGRES_URL and the app's key?"))
        }
        if refunds.failed > 0 {
            findings.append(
                .warning(
                    subject, "\(refunds.failed) answers to refund requests were not taken in \(Limit.days) days",
                    remedy: "the worker's log names them; `countersign refunds preview` says what Apple answered"))
        }
        guard findings.isEmpty else { return findings }
        guard refunds.open + refunds.withoutConsent + refunds.answered > 0 else {
            return [.good(subject, "Apple asked about none in \(Limit.days) days")]
        }
        return [
            .good(
                subject,
                "in \(Limit.days) days: \(refunds.answered) answered, \(refunds.open) to be answered, "
                    + "\(refunds.withoutConsent) without the player's consent")
        ]
    }

    static func judge(failures: [(kind: String, count: Int64, example: String)]) -> [Finding] {
        failures.map { failure in
            .warning(
                "Apple calls",
                "\(failure.count) calls of the kind \(failure.kind) were given up in \(Limit.days) days, such as "
                    + failure.example,
                remedy: "what was granted stays granted; Apple's reason is in the word and in the worker's log")
        }
    }

    static func judge(tests: [AppleNotificationStore.Last]) -> Finding {
        guard !tests.isEmpty else {
            return .good(
                "TEST",
                "no test notification of Apple's has come yet: `countersign apple test-notification` asks for one")
        }
        let list = tests.map { "\($0.app) \($0.environment.rawValue) \(ToolOutput.age($0.ageSeconds)) ago" }
        return .good("TEST", "Apple's last test notifications: \(list.joined(separator: "; "))")
    }
}
