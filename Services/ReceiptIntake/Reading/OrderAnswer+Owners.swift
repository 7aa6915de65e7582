import Foundation
import Persistence

extension OrderAnswer {
    /// Something that an account may use because of the order: `OwnedEntitlement` in the OpenAPI document.
    struct OwnedEntitlement: Encodable, Sendable {
        let account: String
        let entitlement: AccountAnswer.Entitlement

        private enum Key: String, CodingKey {
            case account
        }

        init(_ owned: OrderReadingStore.OwnedEntitlement) {
            account = owned.account
            entitlement = AccountAnswer.Entitlement(owned.entitlement)
        }

        func encode(to encoder: any Encoder) throws {
            try entitlement.encode(to: encoder)
            var members = encoder.container(keyedBy: Key.self)
            try members.encode(account, forKey: .account)
        }
    }

    /// That the order's lineage came to an account: `OrderBinding` in the OpenAPI document.
    struct Binding: Encodable, Sendable {
        let from: OrderView.Party
        let to: OrderView.Party
        let cause: String
        let policy: String?
        let createdAt: Date

        private enum Key: String, CodingKey {
            case from, to, cause, policy
            case isFirst = "first"
            case createdAt = "created_at"
        }

        init(_ binding: OrderView.Binding) {
            from = binding.from
            to = binding.to
            cause = binding.row.cause
            policy = binding.row.policy
            createdAt = binding.row.createdAt
        }

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Key.self)
            // Whose name the caller may not know is left out; `first` tells that from nobody's.
            try members.encodeIfPresent(from.name, forKey: .from)
            try members.encodeIfPresent(to.name, forKey: .to)
            try members.encode(from == .nobody, forKey: .isFirst)
            try members.encode(cause, forKey: .cause)
            try members.encodeIfPresent(policy, forKey: .policy)
            try members.encode(createdAt, forKey: .createdAt)
        }
    }

    /// An operator's word whose the order is: `OperatorClaim` in the OpenAPI document.
    struct Claim: Encodable, Sendable {
        let account: String
        /// Left out for players, like the reason: the studio's staff is none of their business.
        let actor: String?
        let reason: String?
        let createdAt: Date
        let pending: Bool

        enum CodingKeys: String, CodingKey {
            case account, actor, reason, pending
            case createdAt = "created_at"
        }

        init(_ claim: OrderView.Claim) {
            account = claim.account
            actor = claim.actor
            reason = claim.reason
            createdAt = claim.createdAt
            pending = claim.isPending
        }
    }

    /// What remains of the price: `EstimatedProceeds` in the OpenAPI document.
    struct Proceeds: Encodable, Sendable {
        let estimate = true
        let gross: Int64
        let tax: Int64
        let commission: Int64
        let estimated: Int64
        let refunded: Int64
        let taxKnown: Bool

        enum CodingKeys: String, CodingKey {
            case estimate
            case gross = "gross_milliunits"
            case tax = "tax_milliunits"
            case commission = "commission_milliunits"
            case estimated = "proceeds_milliunits"
            case refunded = "refunded_proceeds_milliunits"
            case taxKnown = "tax_known"
        }

        init(_ proceeds: OrderReadingStore.Proceeds) {
            gross = proceeds.gross
            tax = proceeds.tax
            commission = proceeds.commission
            estimated = proceeds.estimated
            refunded = proceeds.refunded
            taxKnown = proceeds.isTaxKnown
        }
    }
}
