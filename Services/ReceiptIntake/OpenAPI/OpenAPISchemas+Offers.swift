extension OpenAPISchemas {
    /// More of the document's last part, in YAML: subscription offers.
    static let offers = #"""
            OfferSignatureRequest:
              description: Exactly one of `offer_id` and `allow_introductory_offer`.
              type: object
              required: [app, product_id]
              not:
                anyOf:
                  - { required: [offer_id, allow_introductory_offer] }
                  - { required: [allow_introductory_offer], not: { required: [transaction_id] } }
                  - { not: { anyOf: [{ required: [offer_id] }, { required: [allow_introductory_offer] }] } }
              properties:
                app: { $ref: '#/components/schemas/AppId' }
                account:
                  description: The account, where a player says it; nothing depends on it.
                  $ref: '#/components/schemas/AccountName'
                product_id: { description: The subscription., $ref: '#/components/schemas/PrintableText' }
                offer_id:
                  description: The promotional offer's identifier in App Store Connect.
                  $ref: '#/components/schemas/PrintableText'
                allow_introductory_offer:
                  description: Whether the customer may have the introductory offer, also once more.
                  type: boolean
                app_account_token:
                  description: |
                    What the app buys with, as appAccountToken or applicationUsername: `signature` is of no use for a purchase
                    with another, or with one where this is left out.
                  type: string
                  format: uuid
                transaction_id:
                  description: |
                    Any transaction of the customer's in this app, or the appTransactionId: `jws` is good for that customer
                    alone then. Required with `allow_introductory_offer`.
                  type: string
                  pattern: '^[A-Za-z0-9]{1,64}$'
            OfferSignature:
              type: object
              required: [app, product_id, key_id, nonce, timestamp, jws]
              properties:
                app: { type: string }
                product_id: { type: string }
                offer_id: { type: string, description: A promotional offer's. }
                allow_introductory_offer: { type: boolean, description: The introductory offer's. }
                app_account_token: { type: string, description: 'In lower case, as it was signed.' }
                transaction_id: { type: string }
                key_id: { type: string, description: The key's id in App Store Connect. }
                nonce:
                  description: In lower case, as it was signed.
                  type: string
                  pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                timestamp:
                  description: Milliseconds since 1970, as StoreKit takes it.
                  type: integer
                  format: int64
                signature:
                  description: A promotional offer's. ECDSA with SHA-256 over Apple's parts, DER, base64.
                  type: string
                expires_at:
                  description: Until when the App Store takes `signature`; 24 hours.
                  $ref: '#/components/schemas/Time'
                jws:
                  description: For `promotionalOffer(_:compactJWS:)` or `introductoryOfferEligibility(compactJWS:)`.
                  type: string
                  pattern: '^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$'

        """#
}
