extension OpenAPIPaths {
    /// The route of the wallet, in YAML; it goes on in `paths`.
    static let wallet = #"""
          /v1/accounts/{id}/spend:
            post:
              operationId: postSpend
              tags: [wallet]
              summary: Spends items of an account, all of them or nothing, and never below zero.
              description: |
                For studios that let Countersign hold the wallet. A repetition with the same key is answered as the first
                time, with `Idempotent-Replayed: true`, and spends nothing more. A request that finds too little is not
                remembered, and may be sent again. Spending is no event: the account's `version` stays.
              security:
                - server: [spend]
              parameters:
                - $ref: '#/components/parameters/AccountId'
                - $ref: '#/components/parameters/IdempotencyKey'
              requestBody:
                required: true
                content:
                  application/json:
                    schema: { $ref: '#/components/schemas/SpendRequest' }
              responses:
                '200':
                  description: It is spent, now or by the same request before.
                  headers:
                    Idempotent-Replayed: { $ref: '#/components/headers/IdempotentReplayed' }
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/Spend' }
                \#(problems(400, 401, 403, 404))
                '409': { $ref: '#/components/responses/BalanceInsufficient' }
                \#(problems(413, 415, 422, 429, 503))

        """#
}
