/// What a reason means and what to do about it: the only table, of which answers, pages, the OpenAPI document, the tool and
/// `deploy/site/reference` tell.
package struct Reason: Sendable {
    /// The word that answers, events, logs and metrics have.
    package let code: ReasonCode
    /// What it means, in sentences.
    package let meaning: String
    /// Half a sentence, which goes on after "because".
    package let because: String
    /// What an operator does about submissions that are rejected for it, where a purchase that was paid for may be behind them.
    package let rejected: String?
    /// What an operator does about what is parked for it.
    package let parked: String?
    /// What an operator does about submissions that have no outcome for it; nil where that ends by itself.
    package let waiting: String?

    init(
        _ code: ReasonCode, _ meaning: String, because: String? = nil, rejected: String? = nil, parked: String? = nil,
        waiting: String? = nil
    ) {
        self.code = code
        self.meaning = meaning
        self.because = because ?? "of “\(code.rawValue.replacing("_", with: " "))”"
        self.rejected = rejected
        self.parked = parked
        self.waiting = waiting
    }

    /// A reason whose word a library states, which knows no ``ReasonCode``.
    init(named code: String, _ meaning: String, rejected: String? = nil, waiting: String? = nil) {
        self.init(ReasonCode(rawValue: code), meaning, rejected: rejected, waiting: waiting)
    }

    /// The page that a reader of the word looks up, as text.
    package var page: String { "\(code)\n\n\(meaning)\n" }

    /// Every reason that answers and events have, by code.
    package static let all: [Reason] = (purchases + lookups + signatures + receipts).sorted {
        $0.code.rawValue < $1.code.rawValue
    }

    private static let byCode = Dictionary(uniqueKeysWithValues: all.map { ($0.code, $0) })

    /// The reason of a word; without remedies, and with the word for its meaning, where this version does not know it.
    package static func of(_ code: ReasonCode) -> Reason { byCode[code] ?? Reason(code, code.rawValue) }
}
