import Messages
import Persistence
import PurchaseModel

/// What a player is told of a purchase that the player posted by its number: nothing before it is the player's.
///
/// Whether a number is another's purchase, or none at all, is the same answer after the same time: who guesses numbers learns
/// nothing of other people's purchases. The studio's server sees what there is.
struct PossessionAnswers: Sendable {
    /// The answer to a number that is not the poster's, or not yet, or does not exist.
    static let unproven = SubmissionOutcome(
        state: .parked, finish: false, reason: .possessionUnproven,
        detail: "a number proves nothing: post the signed transaction, or a receipt that contains it, or have the "
            + "studio's server post it")

    /// Reasons by which a number that exists could be told from one that does not.
    private static let telling: Set<ReasonCode> = [
        .possessionUnproven, .transactionNotFound, .transactionNotInReceipt, .orderNotFound,
    ]

    /// Whether an app takes a number for a proof: there is nothing to hide from those who guess.
    let isByNumber: @Sendable (_ app: String) -> Bool

    /// Whether the answers about a submission say nothing of its number.
    func conceals(app: String, kind: ProofKind, named: String?, isServer: Bool) -> Bool {
        !isServer && kind.isNumber(named: named) && !isByNumber(app)
    }

    /// Whether a player would learn from an outcome that the number exists, or that it does not.
    static func isTelling(_ outcome: SubmissionOutcome, of kind: ProofKind) -> Bool {
        guard let reason = outcome.reason else { return false }
        // A receipt's environment stands in the receipt; a bare number's is Apple's word.
        return telling.contains(reason) || reason == .sandboxRefused && kind != .receipt
    }
}

/// What a caller may know of a submission.
struct SubmissionView: Sendable {
    /// The outcome that the caller is told; nil while there is none.
    let outcome: SubmissionOutcome?
    /// Whether the outcome stands for several, so that it must not come sooner for one than for another.
    let isConcealing: Bool

    /// - Parameter conceals: as ``PossessionAnswers/conceals(app:kind:named:isServer:)``.
    init(_ status: SubmissionStore.Status?, conceals: Bool) {
        guard conceals, let status else {
            outcome = status?.outcome
            isConcealing = false
            return
        }
        isConcealing =
            status.outcome.map { PossessionAnswers.isTelling($0, of: status.kind) } ?? status.wasNotFound
        outcome = isConcealing ? PossessionAnswers.unproven : status.outcome
    }
}
