import Foundation
import Persistence
import PurchaseModel

/// An order's story as far as one caller may know it.
///
/// A player sees what is of the own account: neither who else posted the same transaction, nor who had it before, nor
/// what is between the studio, its staff and Apple.
struct OrderView: Sendable {
    let story: OrderReadingStore.Story
    /// Apple's transaction ids of the purchase beside the order's own.
    let furtherIds: [FurtherId]
    let submissions: [OrderReadingStore.Submission]
    let entries: [OrderReadingStore.Entry]
    let entitlements: [OrderReadingStore.OwnedEntitlement]
    let bindings: [Binding]
    /// Who had the lineage when the order was granted.
    let grantee: Party
    let claims: [Claim]
    let events: [OrderReadingStore.Event]
    /// Nil for players, like the next two.
    let deliveries: [OrderReadingStore.Delivery]?
    let isPriceExpected: Bool?
    let proceeds: OrderReadingStore.Proceeds?
    /// Nil for players: after a transfer it is the token of whoever bought it.
    let appAccountToken: UUID?

    /// Somebody in a binding.
    enum Party: Sendable, Hashable {
        case nobody
        case account(String)
        /// An account that the caller may not know.
        case another

        /// The account's name, where the caller may know it.
        var name: String? {
            if case .account(let name) = self { name } else { nil }
        }

        /// Whether it is this account, byte for byte.
        func isAccount(_ account: String) -> Bool { name.map { $0.utf8.elementsEqual(account.utf8) } ?? false }

        /// The party in a sentence.
        var words: String {
            switch self {
            case .nobody: "nobody"
            case .account(let name): "account \(name)"
            case .another: "another account"
            }
        }
    }

    /// Another of Apple's transaction ids of the purchase.
    struct FurtherId: Sendable {
        let row: OrderReadingStore.TransactionId
        /// The submission that told of it; nil where the caller may not know that.
        let submissionId: String?
    }

    /// A binding, with its parties as the caller may know them.
    struct Binding: Sendable {
        let row: OrderReadingStore.Binding
        let from: Party
        let to: Party
    }

    /// An operator's word; who said it and why only for servers.
    struct Claim: Sendable {
        let account: String
        let actor: String?
        let reason: String?
        let createdAt: Date
        let isPending: Bool
    }

    /// Nil when the order is not the caller's.
    init?(_ story: OrderReadingStore.Story, for caller: Caller) {
        guard caller.app == story.app else { return nil }
        self.story = story
        let isServer = caller.isServer
        func isOwn(_ account: String?) -> Bool { account.map { caller.maySee(app: story.app, account: $0) } ?? false }
        guard isServer || isOwn(story.account) else { return nil }
        let submissions = story.submissions.filter { isOwn($0.account) }
        self.submissions = submissions
        furtherIds = story.transactionIds.filter { $0.text != story.order.transactionId }.map { row in
            let isKnown = isServer || submissions.contains { $0.id == row.submissionId }
            return FurtherId(row: row, submissionId: isKnown ? row.submissionId : nil)
        }
        entries = story.entries.filter { isOwn($0.account) }
        entitlements = story.entitlements.filter { isOwn($0.account) }
        func party(_ account: String?) -> Party { account.map { isOwn($0) ? .account($0) : .another } ?? .nobody }
        bindings = story.bindings.filter { isOwn($0.from) || isOwn($0.to) }.map { binding in
            Binding(row: binding, from: party(binding.from), to: party(binding.to))
        }
        grantee = party(Self.grantee(of: story))
        claims = story.claims.filter { isOwn($0.account) }.map { claim in
            Claim(
                account: claim.account, actor: isServer ? claim.actor : nil, reason: isServer ? claim.reason : nil,
                createdAt: claim.createdAt, isPending: claim.isPending)
        }
        // What nobody has yet is told to nobody but the studio.
        events = isServer ? story.events : story.events.filter { isOwn($0.account) }
        deliveries = isServer ? story.deliveries : nil
        isPriceExpected = isServer ? story.isPriceExpected : nil
        proceeds = isServer ? story.proceeds : nil
        appAccountToken = isServer ? story.appAccountToken : nil
    }

    /// An order says whose it is now; whose it was when it was granted, the history of its lineage says.
    private static func grantee(of story: OrderReadingStore.Story) -> String? {
        guard let granted = story.order.grantedAt else { return story.account }
        let moves = story.bindings.filter { $0.cause != BindingChange.Cause.share.rawValue }
        // What is bound by the grant's own transaction has its time.
        return moves.last { $0.createdAt <= granted }?.to ?? moves.first?.from ?? story.account
    }
}
