extension OpenAPIPaths {
    /// The routes by which Apple is asked about a customer, in YAML; it goes on in `paths`.
    static let sweeps = #"""
          /v1/sweeps:
            post:
              operationId: postSweep
              tags: [purchases]
              summary: Has Apple asked at once for all that a customer bought; for who wrote to support.
              description: |
                Exactly one of `account`, `transaction_id` and `app_account_token` says whom. Whole histories, refunds and
                subscriptions are read, before everything else that the sweep has to ask. What is signed and not in the books
                is granted as anything else. While the same is under way, asking again is the same request, and does not
                count towards the limit of a day.
              security:
                - server: [operate]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: { $ref: '#/components/schemas/SweepRequest' }
              responses:
                '202':
                  description: It is written down.
                  headers:
                    Retry-After: { $ref: '#/components/headers/RetryAfter' }
                    Location: { $ref: '#/components/headers/SweepLocation' }
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/Sweep' }
                \#(problems(400, 401, 403, 413, 415, 422, 429, 503))
          /v1/sweeps/{id}:
            get:
              operationId: getSweep
              tags: [purchases]
              summary: How far it is, and what it found; for 30 days.
              security:
                - server: [operate]
              parameters:
                - name: id
                  in: path
                  required: true
                  description: The `id` that the posting was answered with.
                  schema: { type: string }
                - $ref: '#/components/parameters/App'
              responses:
                '200':
                  description: As it stands.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/Sweep' }
                \#(problems(401, 403, 404, 422, 429, 503))

        """#
}

extension OpenAPISchemas {
    /// The shapes of these routes, in YAML; it goes on in `schemas`.
    static let sweeps = #"""
            SweepRequest:
              type: object
              required: [app, reason]
              not:
                anyOf:
                  - { required: [account, transaction_id] }
                  - { required: [account, app_account_token] }
                  - { required: [transaction_id, app_account_token] }
                  - not:
                      anyOf:
                        - { required: [account] }
                        - { required: [transaction_id] }
                        - { required: [app_account_token] }
              properties:
                app: { $ref: '#/components/schemas/AppId' }
                account: { description: Whoever paid for what this account has., $ref: '#/components/schemas/AccountName' }
                transaction_id: { $ref: '#/components/schemas/TransactionId' }
                app_account_token: { type: string, format: uuid, description: 'Whose token this is, an intent''s id for instance.' }
                environment: { description: both where left out, $ref: '#/components/schemas/Environment' }
                reason: { description: 'Why, for the audit log.', $ref: '#/components/schemas/PrintableText' }
            Sweep:
              type: object
              required: [id, state, requested_at, questions, questions_left, calls, found, recovered]
              properties:
                id: { type: string, pattern: '^swp_[0-9a-f]{32}$' }
                state:
                  type: string
                  enum: [received, under_way, finished]
                  description: It is `received` until a worker has it, within seconds.
                requested_at: { $ref: '#/components/schemas/Time' }
                finished_at: { $ref: '#/components/schemas/Time' }
                questions: { type: integer, description: 'Histories, refunds and subscriptions that are read.' }
                questions_left: { type: integer }
                calls: { type: integer, description: Calls of Apple's servers for it. }
                found: { type: integer, description: What the books lacked; it goes the ordinary way. }
                waits_for: { type: string, description: Why a question was put off; the words may change. }
                recovered:
                  description: What was found and has an order by now; the first 100.
                  type: array
                  items:
                    type: object
                    required: [environment, transaction_id, state]
                    properties:
                      environment: { $ref: '#/components/schemas/Environment' }
                      transaction_id: { $ref: '#/components/schemas/TransactionId' }
                      state: { type: string, description: The order's. }
                      reason: { type: string }

        """#
}
