import ChanceTesting
import Foundation
import Messages
import PurchaseModel

/// Subscriptions whose original ids change, there and back again, and whose periods have tokens of several accounts: made by
/// chance and the same for the same seed.
///
/// Whose a lineage is does not depend on who came first: all of its periods have tokens, or none has and one player posts.
struct MovingHistory: Sendable {
    /// One proof: a notification, or what a player posts.
    struct Act: Sendable {
        let transaction: Transaction
        let poster: String?
    }

    static let accounts = ["anna", "ben", "cleo"]

    let prefix: String
    private(set) var acts: [Act] = []
    /// Whose the tokens are; some are known late.
    private(set) var tokens: [(token: UUID, account: String)] = []
    /// How many periods there are.
    private(set) var periodCount = 0
    private(set) var lineageCount = 0

    private var chance: SplitMix

    init(seed: UInt64, prefix: String, lineages: Int = 5) {
        self.prefix = prefix
        chance = SplitMix(seed: seed)
        // Two tokens each: an account may have several.
        for account in Self.accounts + Self.accounts { tokens.append((UUID(), account)) }
        for number in 0..<lineages { addLineage(number) }
        lineageCount = lineages
    }

    private mutating func isChosen(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &chance) < probability
    }

    private mutating func addLineage(_ number: Int) {
        let originals = ["a", "b", "c"].map { "\(prefix)o\(number)\($0)" }
        let poster = isChosen(0.3) ? Self.accounts.randomElement(using: &chance) : nil
        var place = 0
        var last: Transaction?
        for period in 1...Int.random(in: 2...6, using: &chance) {
            periodCount += 1
            let before = place
            if isChosen(0.4) { place = Int.random(in: originals.indices, using: &chance) }
            var transaction = Bench.season(period)
            transaction.transactionId = "\(prefix)t\(number).\(period)"
            transaction.originalTransactionId = originals[place]
            transaction.webOrderLineItemId = "\(prefix)w\(number).\(period)"
            transaction.transactionReason = period == 1 ? "PURCHASE" : "RENEWAL"
            if poster == nil { transaction.appAccountToken = tokens.randomElement(using: &chance)?.token }
            if place != before { link(&transaction, with: last, under: originals[place]) }
            add(transaction, by: poster)
            tellAgain(transaction, originals, by: poster)
            last = transaction
        }
    }

    /// The move is known by the month before, signed anew under the other id, or by what the new one names.
    private mutating func link(_ transaction: inout Transaction, with last: Transaction?, under original: String) {
        guard let last else { return }
        if isChosen(0.4) {
            transaction.previousOriginalTransactionId = last.originalTransactionId
        } else {
            var moved = last
            moved.originalTransactionId = original
            moved.signedDate += 86_400 * 3
            acts.append(Act(transaction: moved, poster: nil))
        }
    }

    /// The same period once more: under another original id, under another transaction id, refunded, or as it was.
    private mutating func tellAgain(_ transaction: Transaction, _ originals: [String], by poster: String?) {
        if isChosen(0.3) {
            var moved = transaction
            moved.originalTransactionId = originals.randomElement(using: &chance) ?? transaction.originalTransactionId
            moved.signedDate += 86_400
            acts.append(Act(transaction: moved, poster: nil))
        }
        if isChosen(0.3) {
            var copy = transaction
            copy.transactionId += "x"
            copy.signedDate += 60
            add(copy, by: poster)
        }
        if isChosen(0.2) {
            var refunded = transaction
            refunded.signedDate += 86_400 * 5
            refunded.revocationDate = refunded.signedDate
            acts.append(Act(transaction: refunded, poster: nil))
        }
    }

    private mutating func add(_ transaction: Transaction, by poster: String?) {
        acts.append(Act(transaction: transaction, poster: nil))
        if let poster { acts.append(Act(transaction: transaction, poster: poster)) }
    }
}
