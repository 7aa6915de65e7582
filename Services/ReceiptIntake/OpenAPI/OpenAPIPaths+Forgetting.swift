extension OpenAPIPaths {
    /// The routes that export and forget an account, in YAML; it goes on in `paths`.
    static let forgetting = #"""
          /v1/accounts/{id}/export:
            get:
              operationId: getAccountExport
              tags: [reading]
              summary: All that is known of an account, of both environments.
              description: |
                Lists are named for the tables of the database, and are there when they are empty. Other accounts are not
                named. An answer that is cut off is no JSON: ask again.
              security:
                - server: [read]
              parameters:
                - $ref: '#/components/parameters/AccountId'
                - $ref: '#/components/parameters/App'
              responses:
                '200':
                  description: All of it.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/AccountExport' }
                \#(problems(401, 403, 404, 422, 429, 503))
          /v1/accounts/{id}/forget:
            post:
              operationId: postForget
              tags: [reading]
              summary: Has an account's name replaced by a pseudonym everywhere; it cannot be undone.
              description: |
                Close the account first: what it buys later is a new account's. While it is under way, asking again is the
                same request. Purchases that have no outcome yet are waited for.
              security:
                - server: [operate]
              parameters:
                - $ref: '#/components/parameters/AccountId'
              requestBody:
                required: true
                content:
                  application/json:
                    schema: { $ref: '#/components/schemas/ForgetRequest' }
              responses:
                '202':
                  description: It is written down, and under way.
                  headers:
                    Retry-After: { $ref: '#/components/headers/RetryAfter' }
                    Location: { $ref: '#/components/headers/ForgetLocation' }
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/ForgetStatus' }
                \#(problems(400, 401, 403, 404, 413, 415, 422, 429, 503))
          /v1/forget-requests/{id}:
            get:
              operationId: getForgetRequest
              tags: [reading]
              summary: How far it is.
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
                      schema: { $ref: '#/components/schemas/ForgetStatus' }
                \#(problems(401, 403, 404, 422, 429, 503))

        """#
}
