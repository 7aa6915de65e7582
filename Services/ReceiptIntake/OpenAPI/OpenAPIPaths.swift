/// What intake offers, by path.
///
/// Tests hold it against the router and against real answers.
enum OpenAPIPaths {
    /// The document's first part, in YAML.
    static let yaml = #"""
        openapi: 3.1.0
        info:
          title: Countersign
          version: 1.0.0
          summary: Posts App Store purchases, and tells what accounts have.
          description: |
            An app posts a proof of purchase and finishes the transaction only when an answer says `finish: true`.
            Readers ask for accounts, transactions, and the story of one order. Unknown members of answers are to be
            ignored: answers grow by members. Every problem is a document by RFC 9457.
          license: { name: Apache-2.0, identifier: Apache-2.0 }
        servers:
          - url: /
        tags:
          - { name: purchases, description: Proofs and their outcomes }
          - { name: reading, description: 'What accounts have, and why' }
          - { name: notifications, description: What Apple's servers tell }
          - { name: wallet, description: Spending what accounts have }
          - { name: webhooks, description: What the backend is told }
          - { name: document, description: 'This document, and pages about problems, reasons and events' }
        paths:
          /v1/purchases:
            post:
              operationId: postPurchase
              tags: [purchases]
              summary: Posts one proof of purchase; on disk when it is answered.
              description: |
                Exactly one of `signed_transaction`, `receipt`, `transaction_id` and `order_id`; beside a `receipt`,
                `transaction_id` names which of its transactions is this account's. Posting the same again is the same
                submission.
              security:
                - player: []
                - server: [post]
              parameters:
                - $ref: '#/components/parameters/Wait'
              requestBody:
                required: true
                content:
                  application/json:
                    schema: { $ref: '#/components/schemas/PurchaseRequest' }
              responses:
                '200': { $ref: '#/components/responses/Settled' }
                '202': { $ref: '#/components/responses/Received' }
                \#(problems(400, 401, 403, 413, 415, 422, 429, 503))
          /v1/purchases/{id}:
            get:
              operationId: getPurchase
              tags: [purchases]
              summary: How a submission stands.
              security:
                - player: []
                - server: [post]
              parameters:
                - name: id
                  in: path
                  required: true
                  description: The `id` that the posting was answered with.
                  schema: { type: string }
                - $ref: '#/components/parameters/Wait'
              responses:
                '200': { $ref: '#/components/responses/Settled' }
                '202': { $ref: '#/components/responses/Received' }
                \#(problems(401, 403, 404, 422, 429, 503))
          /v1/account-tokens/{uuid}:
            put:
              operationId: putAccountToken
              tags: [purchases]
              summary: Says whose an appAccountToken is; for ever.
              security:
                - server: [post]
              parameters:
                - name: uuid
                  in: path
                  required: true
                  description: The UUID that the app sets as appAccountToken when it buys.
                  schema: { type: string, format: uuid }
              requestBody:
                required: true
                content:
                  application/json:
                    schema: { $ref: '#/components/schemas/AccountTokenRequest' }
              responses:
                '200':
                  description: The token is the account's.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/AccountToken' }
                \#(problems(400, 401, 403, 409, 413, 415, 422, 429, 503))
          /v1/accounts/{id}:
            get:
              operationId: getAccount
              tags: [reading]
              summary: What an account has, all of one moment.
              description: |
                With `at_least`, the answer comes once the account's `version` is that or higher, so that who has heard of
                an event (its `sequence` is the version) reads its effects. A player reads the own account only.
              security:
                - player: []
                - server: [read]
              parameters:
                - $ref: '#/components/parameters/AccountId'
                - $ref: '#/components/parameters/App'
                - $ref: '#/components/parameters/Environment'
                - name: expired
                  in: query
                  description: Whether entitlements that have ended or were taken back are told too.
                  schema: { type: string, enum: ['true', 'false'], default: 'false' }
                - name: at_least
                  in: query
                  description: The version to wait for.
                  schema: { type: integer, format: int64, minimum: 0 }
                - $ref: '#/components/parameters/Wait'
              responses:
                '200':
                  description: The account; one that nothing is known of has nothing, at version 0.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/Account' }
                \#(problems(401, 403, 404))
                '409': { $ref: '#/components/responses/VersionNotReached' }
                \#(problems(422, 429, 503))
          /v1/accounts/{id}/transactions:
            get:
              operationId: getTransactions
              tags: [reading]
              summary: An account's transactions, the newest first, a page at a time.
              security:
                - player: []
                - server: [read]
              parameters:
                - $ref: '#/components/parameters/AccountId'
                - $ref: '#/components/parameters/App'
                - $ref: '#/components/parameters/Environment'
                - name: after
                  in: query
                  description: The `next` of the page before, as it was.
                  schema: { type: string, minLength: 1, maxLength: 200, pattern: '^[A-Za-z0-9_-]+$' }
                - name: limit
                  in: query
                  description: The most transactions of the page.
                  schema: { type: integer, minimum: 1, maximum: 100, default: 20 }
              responses:
                '200':
                  description: A page.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/TransactionPage' }
                \#(problems(401, 403, 404, 422, 429, 503))
          /v1/orders/{transaction_id}:
            get:
              operationId: getOrder
              tags: [reading]
              summary: One order with everything that was written because of it.
              description: A player reads own orders only, and in them nothing of other accounts.
              security:
                - player: []
                - server: [read]
              parameters:
                - $ref: '#/components/parameters/TransactionId'
                - $ref: '#/components/parameters/App'
                - $ref: '#/components/parameters/Environment'
              responses:
                '200':
                  description: The order.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/Order' }
                \#(problems(401, 403, 404, 422, 429, 503))
          /v1/orders/{transaction_id}/why:
            get:
              operationId: getOrderStory
              tags: [reading]
              summary: The story of one order in sentences, by time.
              description: The sentences are for people; programs read the order itself.
              security:
                - player: []
                - server: [read]
              parameters:
                - $ref: '#/components/parameters/TransactionId'
                - $ref: '#/components/parameters/App'
                - $ref: '#/components/parameters/Environment'
              responses:
                '200':
                  description: The story; as text where `Accept` rather wants `text/plain`.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/Why' }
                    text/plain:
                      schema: { type: string }
                \#(problems(401, 403, 404, 422, 429, 503))
          /openapi.yaml:
            get:
              operationId: getDocumentInYAML
              tags: [document]
              summary: This document in YAML.
              security: []
              responses:
                '200':
                  description: The document.
                  content:
                    application/yaml:
                      schema: { description: The same as in JSON. }
                '429': { $ref: '#/components/responses/TryLater' }
          /openapi.json:
            get:
              operationId: getDocumentInJSON
              tags: [document]
              summary: This document in JSON.
              security: []
              responses:
                '200':
                  description: The document.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/Document' }
                '429': { $ref: '#/components/responses/TryLater' }

        """#
}
