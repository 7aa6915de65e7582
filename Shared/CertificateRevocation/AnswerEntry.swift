import Foundation

/// What is known of one certificate: the last answer that counted, the failure since then, if there was one, whether it
/// has expired, and whether there is anybody to ask.
struct AnswerEntry {
    enum Limit {
        /// How soon after an answer the next question may follow, in seconds: responders repeat answers that they made
        /// before.
        static let renewalInterval: TimeInterval = 60
        /// Which part of its life an answer has behind it when a new one is asked for.
        static let renewalShare = 0.75
    }

    /// What is to be done to know.
    enum Need {
        case nothing
        /// What is known counts, but a new answer is due.
        case renewal
        /// Nothing that is known counts until there was an answer or a failure.
        case answer
    }

    private struct Failure {
        let reason: String
        let at: Date
    }

    private var answer: SignedAnswer?
    private var failure: Failure?
    /// When the certificate expired, if that was seen.
    private var expiry: Date?
    private var namesNoResponder = false
    /// Whether a question is under way.
    var isAsked = false
    /// A number that grows with every use of any entry.
    var lastUse: UInt64 = 0

    func need(at now: Date, settings: RevocationChecker.Settings) -> Need {
        if namesNoResponder || hasExpired(at: now) { return .nothing }
        let hasFailed = failure.map { hasJustFailed($0, at: now, settings: settings) } ?? false
        if let answer, isFresh(answer, at: now) {
            let renewal = max(
                Limit.renewalShare * answer.until.timeIntervalSince(answer.receivedAt), Limit.renewalInterval)
            return hasFailed || now.timeIntervalSince(answer.receivedAt) < renewal ? .nothing : .renewal
        }
        if hasFailed { return .nothing }
        // After a failure nobody waits while there is something to go by.
        if failure != nil, standsOnAnswer(at: now, settings: settings) { return .renewal }
        return .answer
    }

    /// What is said of the certificate now.
    func standing(at now: Date, settings: RevocationChecker.Settings) -> RevocationStatus {
        if let answer, standsOnAnswer(at: now, settings: settings) {
            switch answer.standing {
            case .good: return .good
            case .revoked(let date, _): return .revoked(at: date)
            }
        }
        if namesNoResponder { return .noResponder }
        if hasExpired(at: now) { return .expired }
        return .unknown(failure?.reason ?? "there was no answer")
    }

    mutating func settle(_ outcome: QuestionOutcome, at now: Date) {
        switch outcome {
        case .answered(let new):
            answer = new
            failure = nil
        case .notKnown:
            // It is signed, so it takes the place of *good*; about what is revoked nobody asks.
            answer = nil
            failure = Failure(reason: "the responder does not know the certificate", at: now)
        case .expired(let date):
            // What was answered before stays.
            expiry = date
        case .noResponder: namesNoResponder = true
        case .failed(let new):
            failure = Failure(reason: new.reason, at: now)
        }
    }

    /// Failures are missed less than answers, and *revoked* most.
    func isMissedLess(than other: AnswerEntry) -> Bool {
        (worth, lastUse) < (other.worth, other.lastUse)
    }

    private var worth: Int {
        answer.map { $0.isRevoked ? 2 : 1 } ?? 0
    }

    private func standsOnAnswer(at now: Date, settings: RevocationChecker.Settings) -> Bool {
        answer.map { $0.isRevoked || now < $0.until + settings.grace.seconds } ?? false
    }

    private func hasExpired(at now: Date) -> Bool {
        // A clock that went ahead and was set back makes nothing expire.
        expiry.map { $0 < now } ?? false
    }

    private func isFresh(_ answer: SignedAnswer, at now: Date) -> Bool {
        // A clock that was set back makes nothing live longer.
        now < answer.until && answer.receivedAt <= now + AnswerJudge.Limit.clockSkew
    }

    private func hasJustFailed(_ failure: Failure, at now: Date, settings: RevocationChecker.Settings) -> Bool {
        failure.at <= now && now < failure.at + settings.failureMemory.seconds
    }
}
