import PurchaseModel

/// What was found out about one submission: the verdict, and which of its transactions are the poster's.
struct Finding: Sendable, Hashable {
    /// One of three values.
    let verdict: Verdict
    /// As `VerdictMessage.claims`: nil claims all of them.
    let claims: [String]?

    /// A finding in which all transactions are the poster's, or in which there are none.
    init(_ verdict: Verdict, claims: [String]? = nil) {
        self.verdict = verdict
        self.claims = claims
    }

    /// Refused for good.
    static func rejected(_ reason: ReasonCode, _ detail: String) -> Finding {
        Finding(.rejected(reason, detail: detail))
    }

    /// Nothing is known, until some time.
    static func unknown(_ reason: ReasonCode, after seconds: Double) -> Finding {
        Finding(.unknown(reason, retryAfterSeconds: seconds))
    }

    /// Whether it is refused for good.
    var isRejected: Bool {
        if case .rejected = verdict { return true }
        return false
    }
}
