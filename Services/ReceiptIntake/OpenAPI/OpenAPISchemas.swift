import ServiceRuntime

/// The shapes of what is sent and answered.
enum OpenAPISchemas {
    private static let problemTypes = ProblemPage.all.map { ProblemDetails.typePrefix + $0.slug }.joined(
        separator: ", ")

    /// The document's last part, in YAML; it goes on in `components`.
    static let yaml = #"""
          schemas:
            Environment:
              type: string
              enum: [production, sandbox]
            TransactionId:
              description: Apple's id of a transaction.
              type: string
              pattern: '^[A-Za-z0-9]{1,64}$'
            AppId:
              description: The app's bundle id.
              type: string
              minLength: 1
            PrintableText:
              description: 1 to 255 characters, without control characters and line separators.
              type: string
              minLength: 1
              maxLength: 255
              pattern: '^[^\x00-\x1F\x7F-\x9F\u2028\u2029]+$'
            AccountName:
              description: The studio's own id of an account, 1 to 255 printable characters.
              type: string
              minLength: 1
              maxLength: 255
              pattern: '^[^\x00-\x1F\x7F-\x9F\u2028\u2029]+$'
            TimeOrDay:
              description: A time by RFC 3339, or a day.
              type: string
              pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt].+)?$'
            AppleId:
              description: An id as Apple signed it.
              type: string
            Time:
              description: RFC 3339 in UTC with milliseconds.
              type: string
              pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$'
            Reason:
              description: Why, as a stable word for programs; each has a page at `/reasons/{code}`, and more words will come.
              type: string
              pattern: '^.+$'
              x-extensible-enum: [\#(ReasonPage.all.map(\.code).joined(separator: ", "))]
            OrderState:
              description: granted, parked, revoked; more will come.
              type: string
              pattern: '^[a-z_]+$'
            PurchaseRequest:
              description: >-
                Exactly one of the four proofs; `transaction_id` may stand beside a `receipt`. From a player's token, a
                `transaction_id` or `order_id` alone proves nothing: unless Apple's token names the account, the answer is
                parked with the reason `possession_unproven`, whether there is such a purchase or not.
              type: object
              required: [app]
              # Generators of clients make one class of this, which of `oneOf` they do not.
              not:
                anyOf:
                  - { required: [signed_transaction, receipt] }
                  - { required: [signed_transaction, transaction_id] }
                  - { required: [signed_transaction, order_id] }
                  - { required: [receipt, order_id] }
                  - { required: [transaction_id, order_id] }
                  - not:
                      anyOf:
                        - { required: [signed_transaction] }
                        - { required: [receipt] }
                        - { required: [transaction_id] }
                        - { required: [order_id] }
              properties:
                app: { $ref: '#/components/schemas/AppId' }
                account: { description: Required with a server API key., $ref: '#/components/schemas/AccountName' }
                signed_transaction:
                  description: StoreKit 2's jwsRepresentation, at most 64 KiB.
                  type: string
                  pattern: '^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$'
                receipt:
                  description: The app receipt in base64, with or without line breaks, at most 4 MiB decoded.
                  type: string
                  minLength: 1
                  contentEncoding: base64
                transaction_id: { $ref: '#/components/schemas/TransactionId' }
                order_id:
                  description: The order id of Apple's e-mail to the customer; case does not matter.
                  type: string
                  pattern: '^\s*[A-Za-z0-9]{1,64}\s*$'
                environment:
                  description: What the app was built for; a hint, never a proof.
                  $ref: '#/components/schemas/Environment'
            SettledPurchase:
              type: object
              required: [id, state, finish, transactions]
              properties:
                id: { type: string }
                state: { type: string, enum: [fulfilled, rejected, parked] }
                finish: { type: boolean, description: Whether the app may finish the transaction with StoreKit. }
                reason: { $ref: '#/components/schemas/Reason' }
                detail: { type: string, description: A sentence for a developer. }
                transactions:
                  type: array
                  items: { $ref: '#/components/schemas/TransactionOutcome' }
            ReceivedPurchase:
              type: object
              required: [id, state, finish, transactions]
              properties:
                id: { type: string }
                state: { type: string, enum: [received] }
                finish: { type: boolean, enum: [false] }
                transactions: { type: array, items: { $ref: '#/components/schemas/TransactionOutcome' } }
            TransactionOutcome:
              type: object
              required: [transaction_id, original_transaction_id, product_id, purchase_date, quantity]
              properties:
                transaction_id: { $ref: '#/components/schemas/AppleId' }
                original_transaction_id: { $ref: '#/components/schemas/AppleId' }
                environment: { $ref: '#/components/schemas/Environment' }
                product_id: { type: string }
                purchase_date: { $ref: '#/components/schemas/Time' }
                expires_date: { $ref: '#/components/schemas/Time' }
                quantity: { type: integer, description: 1 or more. }
                state: { $ref: '#/components/schemas/OrderState' }
                reason: { $ref: '#/components/schemas/Reason' }
                test_purchase: { type: string, description: Nobody paid for it; sandbox or app_review. }
            AccountTokenRequest:
              type: object
              required: [app, account]
              properties:
                app: { $ref: '#/components/schemas/AppId' }
                account: { $ref: '#/components/schemas/AccountName' }
            AccountToken:
              type: object
              required: [app, token, account]
              properties:
                app: { type: string }
                token: { type: string, pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' }
                account: { type: string }
            Account:
              type: object
              required: [app, environment, account, version, entitlements, balances, subscriptions, complete]
              properties:
                app: { type: string }
                environment: { $ref: '#/components/schemas/Environment' }
                account: { type: string }
                version: { type: integer, format: int64, description: The sequence of the account's newest event. }
                entitlements: { type: array, items: { $ref: '#/components/schemas/Entitlement' } }
                balances: { type: array, items: { $ref: '#/components/schemas/Balance' } }
                subscriptions:
                  description: Own and shared ones, ended ones too; at most 100.
                  type: array
                  items: { $ref: '#/components/schemas/Subscription' }
                consent: { description: Left out until somebody says., $ref: '#/components/schemas/Consent' }
                complete: { type: boolean, description: False when there is more than is told. }
            Entitlement:
              type: object
              required: [entitlement, transaction_id, granted_at, active]
              properties:
                entitlement: { type: string }
                transaction_id: { $ref: '#/components/schemas/AppleId' }
                granted_at: { $ref: '#/components/schemas/Time' }
                expires_at: { description: Left out for ever., $ref: '#/components/schemas/Time' }
                revoked_at: { description: When it was taken back., $ref: '#/components/schemas/Time' }
                revoked_because: { $ref: '#/components/schemas/EntitlementRevocation' }
                active: { type: boolean, description: Whether it has neither ended nor been taken back. }
            Balance:
              type: object
              required: [item, amount]
              properties:
                item: { type: string }
                amount: { type: integer, format: int64, description: Below zero is a debt. }
            TransactionPage:
              type: object
              required: [transactions]
              properties:
                transactions: { type: array, items: { $ref: '#/components/schemas/Transaction' } }
                next: { type: string, description: What `after` is for the next page; left out after the last. }
            Transaction:
              type: object
              required: [transaction_id, original_transaction_id, product_id, product_type, quantity, state,
                purchase_date, recorded_at]
              properties:
                transaction_id: { description: 'The order''s own id, see `Order`.', $ref: '#/components/schemas/AppleId' }
                original_transaction_id: { $ref: '#/components/schemas/AppleId' }
                product_id: { type: string }
                product_type: { type: string }
                quantity: { type: integer }
                state: { $ref: '#/components/schemas/OrderState' }
                reason: { $ref: '#/components/schemas/Reason' }
                purchase_date: { $ref: '#/components/schemas/Time' }
                expires_date: { $ref: '#/components/schemas/Time' }
                revocation_date: { description: When Apple took it back., $ref: '#/components/schemas/Time' }
                revocation_type:
                  description: REFUND_FULL, REFUND_PRORATED or FAMILY_REVOKE, as Apple wrote it.
                  type: string
                revocation_percentage:
                  description: How much of the price was refunded, in thousandths of a per cent.
                  type: integer
                  format: int64
                revoked_at: { description: When Countersign acted on it., $ref: '#/components/schemas/Time' }
                ownership: { $ref: '#/components/schemas/Ownership' }
                price_milliunits: { type: integer, format: int64, description: Thousandths of the currency's unit. }
                currency: { type: string, description: ISO 4217. }
                storefront: { type: string, description: ISO 3166-1 alpha-3. }
                test_purchase: { type: string }
                recorded_at: { $ref: '#/components/schemas/Time' }
                granted_at: { $ref: '#/components/schemas/Time' }
                granted_elsewhere:
                  description: True where an older system granted it, before its cut-over; nothing of it is in the ledger.
                    Left out otherwise.
                  type: boolean
                  enum: [true]
            Order:
              type: object
              required: [app, environment, transaction_ids, transaction, submissions, entries, entitlements, bindings,
                claims, events]
              properties:
                app: { type: string }
                environment: { $ref: '#/components/schemas/Environment' }
                account: { type: string, description: Left out while nobody's. }
                transaction_ids:
                  description: |
                    Apple's transaction ids of the purchase, each of which finds the order: first its own, by which
                    everything else names it, then the others, sorted; at most 200.
                  type: array
                  items: { $ref: '#/components/schemas/AppleId' }
                transaction: { $ref: '#/components/schemas/Transaction' }
                app_account_token: { type: string, description: The UUID that Apple signed; only for server API keys. }
                catalogue_version: { type: integer, format: int64, description: The catalogue that decided it. }
                price_expected:
                  description: Whether the catalogue names this price; only for server API keys.
                  type: boolean
                proceeds: { description: Only for server API keys., $ref: '#/components/schemas/EstimatedProceeds' }
                subscription: { $ref: '#/components/schemas/Subscription' }
                submissions: { type: array, items: { $ref: '#/components/schemas/OrderSubmission' } }
                entries: { type: array, items: { $ref: '#/components/schemas/LedgerEntry' } }
                entitlements: { type: array, items: { $ref: '#/components/schemas/OwnedEntitlement' } }
                bindings: { type: array, items: { $ref: '#/components/schemas/OrderBinding' } }
                claims: { type: array, items: { $ref: '#/components/schemas/OperatorClaim' } }
                events: { type: array, items: { $ref: '#/components/schemas/OrderEvent' } }
                deliveries:
                  description: Only for server API keys.
                  type: array
                  items: { $ref: '#/components/schemas/Delivery' }
            OrderSubmission:
              type: object
              required: [id, kind, state, received_at]
              properties:
                id: { type: string }
                account: { type: string, description: Left out where Apple's servers posted it. }
                kind:
                  type: string
                  enum: [signed_transaction, receipt, transaction_id, order_id, server_notification, subscription_status]
                transaction_id: { description: Which one a receipt was posted for., $ref: '#/components/schemas/AppleId' }
                state: { type: string, enum: [received, fulfilled, rejected, parked] }
                reason: { $ref: '#/components/schemas/Reason' }
                received_at: { $ref: '#/components/schemas/Time' }
                settled_at: { $ref: '#/components/schemas/Time' }
            LedgerEntry:
              type: object
              required: [kind, account, item, amount, created_at]
              properties:
                kind: { type: string, enum: [grant, revocation, reversal, correction] }
                account: { type: string }
                item: { type: string }
                amount: { type: integer, format: int64, description: Less than zero was taken. }
                created_at: { $ref: '#/components/schemas/Time' }
            OrderEvent:
              type: object
              required: [id, type, created_at]
              properties:
                id: { type: string }
                type: { type: string, pattern: '^iap\.' }
                account: { type: string }
                sequence: { type: integer, format: int64 }
                reason: { $ref: '#/components/schemas/Reason' }
                created_at: { $ref: '#/components/schemas/Time' }
            Delivery:
              type: object
              required: [event_id, endpoint, state, attempts, created_at]
              properties:
                event_id: { type: string }
                endpoint: { type: string, description: Its name in the settings. }
                state: { type: string, enum: [pending, delivered, abandoned] }
                attempts: { type: integer }
                last_status: { type: integer, description: The HTTP status of the last answer. }
                created_at: { $ref: '#/components/schemas/Time' }
                delivered_at: { $ref: '#/components/schemas/Time' }
                due_at: { $ref: '#/components/schemas/Time' }
            Why:
              type: object
              required: [sentences]
              properties:
                sentences: { type: array, items: { $ref: '#/components/schemas/Sentence' } }
            Sentence:
              type: object
              required: [at, text]
              properties:
                at: { $ref: '#/components/schemas/Time' }
                text: { type: string, description: For a person; the words may change. }
            Problem:
              description: RFC 9457. Its `type` leads to a page that says what to do; more types and members will come.
              type: object
              required: [type, title, status]
              properties:
                type:
                  description: Relative to the address that was asked.
                  type: string
                  format: uri-reference
                  pattern: '^/problems/[a-z-]+$'
                  x-extensible-enum: [\#(OpenAPISchemas.problemTypes)]
                title: { type: string }
                status: { type: integer }
                detail: { type: string }
                instance: { type: string }
                field: { type: string, description: Which field or parameter is meant. }
                reason: { type: string, description: Which check refused a notification., pattern: '^[a-z0-9_]+$' }
                scope: { type: string, description: Which scope the key lacks., enum: [post, read, spend, sign, operate] }
                until: { description: Until when two secrets of the endpoint are live., $ref: '#/components/schemas/Time' }
                maximum: { type: string, description: How many there may be., pattern: '^[0-9]+$' }
                request_id: { type: string, description: By what the operator finds the request in the log. }
            VersionNotReached:
              type: object
              required: [type, title, status, version]
              properties:
                type: { type: string, const: /problems/version-not-reached }
                title: { type: string }
                status: { type: integer, enum: [409] }
                detail: { type: string }
                instance: { type: string }
                version: { type: string, description: The account's version., pattern: '^[0-9]+$' }
            Document:
              description: This document.
              type: object
              additionalProperties: true
              required: [openapi, info, paths, components]
              properties:
                openapi: { type: string, const: 3.1.0 }

        """#
}
