extension OpenAPISchemas {
    /// The shapes of subscriptions, and of what belongs to an order, in YAML; it goes on in `schemas`.
    static let orders = #"""
            Subscription:
              description: Where it stood when it changed last; access ends with the later of its dates.
              type: object
              required: [original_transaction_id, transaction_id, product_id, state, purchase_date, expires_date, shared,
                changed_at]
              properties:
                original_transaction_id: { $ref: '#/components/schemas/AppleId' }
                transaction_id: { description: The order of the current period., $ref: '#/components/schemas/AppleId' }
                product_id: { type: string }
                subscription_group_id: { type: string }
                state:
                  description: Access is only in `active` and `grace_period`.
                  type: string
                  enum: [active, expired, billing_retry, grace_period, revoked]
                purchase_date: { $ref: '#/components/schemas/Time' }
                expires_date: { $ref: '#/components/schemas/Time' }
                grace_period_expires_date: { $ref: '#/components/schemas/Time' }
                will_renew:
                  description: Whether the next period is billed. Left out as long as Apple has not said. In a commitment
                    that was cancelled it is true until the last period, see `commitment_renewal`.
                  type: boolean
                renewal_product_id: { type: string, description: Where the next period is another product's. }
                renewal_date: { $ref: '#/components/schemas/Time' }
                renewal_price_milliunits: { type: integer, format: int64 }
                renewal_currency: { type: string, description: ISO 4217. }
                renewal_offer_type: { type: integer, description: 'As offer_type, for the next period.' }
                renewal_offer_identifier: { type: string }
                renewal_billing_plan: { type: string, description: How the next period is billed. }
                expiration_intent: { type: integer, description: Apple's number for why it expired. }
                price_increase_status: { type: integer, description: '0: the customer was asked; 1: agreed, or told.' }
                offer_type:
                  description: '1 introductory, 2 promotional, 3 offer code, 4 win-back.'
                  type: integer
                offer_identifier: { type: string }
                offer_discount_type: { type: string, description: 'Such as FREE_TRIAL, as Apple wrote it.' }
                ownership: { $ref: '#/components/schemas/Ownership' }
                commitment: { $ref: '#/components/schemas/Commitment' }
                commitment_renewal: { $ref: '#/components/schemas/CommitmentRenewal' }
                shared: { type: boolean, description: Whether it is another account's and shared with this one. }
                changed_at: { $ref: '#/components/schemas/Time' }
            Ownership:
              description: PURCHASED or FAMILY_SHARED, as Apple wrote it.
              type: string
            Commitment:
              type: object
              properties:
                billing_period: { type: integer, format: int64, description: 'Which one this is, from 1.' }
                billing_periods: { type: integer, format: int64 }
                price_milliunits: { type: integer, format: int64, description: The price of all of it. }
                expires_date: { $ref: '#/components/schemas/Time' }
                billing_plan: { type: string }
            CommitmentRenewal:
              description: What comes after the commitment.
              type: object
              properties:
                will_renew: { type: boolean, description: False once the customer cancelled. }
                product_id: { type: string }
                renewal_date: { $ref: '#/components/schemas/Time' }
                price_milliunits: { type: integer, format: int64 }
                billing_plan: { type: string }
            OwnedEntitlement:
              type: object
              required: [account, entitlement, transaction_id, granted_at, active]
              properties:
                account: { type: string }
                entitlement: { type: string }
                transaction_id: { $ref: '#/components/schemas/AppleId' }
                granted_at: { $ref: '#/components/schemas/Time' }
                expires_at: { description: Left out for ever., $ref: '#/components/schemas/Time' }
                revoked_at: { $ref: '#/components/schemas/Time' }
                revoked_because: { $ref: '#/components/schemas/EntitlementRevocation' }
                active: { type: boolean, description: Whether it has neither ended nor been taken back. }
            EntitlementRevocation:
              description: refund, family_revoke, family_copy, consent_rescinded, upgraded; more will come.
              type: string
              pattern: '^[a-z_]+$'
            OrderBinding:
              description: That the lineage came to an account. Players read the names of their own accounts only.
              type: object
              required: [first, cause, created_at]
              properties:
                from: { type: string, description: Who had it; left out where nobody did. }
                to: { type: string, description: 'Who has it since; of a share, who may use it, too.' }
                first: { type: boolean, description: Whether nobody had it before. }
                cause: { type: string, enum: [token, possession, purchase, transfer, share, operator] }
                policy: { type: string, description: The restore policy that decided. }
                created_at: { $ref: '#/components/schemas/Time' }
            OperatorClaim:
              description: An operator's word whose the order is.
              type: object
              required: [account, created_at, pending]
              properties:
                account: { type: string }
                actor: { type: string, description: Only for server API keys. }
                reason: { type: string, description: Only for server API keys. }
                created_at: { $ref: '#/components/schemas/Time' }
                pending: { type: boolean, description: Whether it is still to be taken up. }
            EstimatedProceeds:
              description: What remains of the price, as estimated; in thousandths of the order's currency.
              type: object
              required: [estimate, gross_milliunits, tax_milliunits, commission_milliunits, proceeds_milliunits,
                refunded_proceeds_milliunits, tax_known]
              properties:
                estimate: { type: boolean, enum: [true] }
                gross_milliunits: { type: integer, format: int64 }
                tax_milliunits: { type: integer, format: int64 }
                commission_milliunits: { type: integer, format: int64 }
                proceeds_milliunits: { type: integer, format: int64 }
                refunded_proceeds_milliunits: { type: integer, format: int64, description: What a refund took of them. }
                tax_known: { type: boolean, description: Whether the storefront's tax is known. }

        """#
}
