extension OpenAPIPaths {
    /// The route of consents, in YAML; it goes on in `paths`.
    static let consents = #"""
          /v1/accounts/{id}/consent:
            put:
              operationId: putConsent
              tags: [reading]
              summary: Says whether Apple may be told how much of a purchase was used.
              description: |
                Apple asks when a customer wants a refund. Without the player's consent it is told nothing. The consent is
                for both environments, is told with the account, and may be taken back at any time.
              security:
                - player: []
                - server: [post]
              parameters:
                - $ref: '#/components/parameters/AccountId'
              requestBody:
                required: true
                content:
                  application/json:
                    schema: { $ref: '#/components/schemas/ConsentRequest' }
              responses:
                '200':
                  description: It is written down.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/ConsentAnswer' }
                \#(problems(400, 401, 403, 404, 413, 415, 422, 429, 503))

        """#
}

extension OpenAPISchemas {
    /// The shapes of consents, in YAML; it goes on in `schemas`.
    static let consents = #"""
            ConsentRequest:
              type: object
              required: [app, consented]
              properties:
                app: { $ref: '#/components/schemas/AppId' }
                consented: { type: boolean, description: Whether the player agrees. }
            ConsentAnswer:
              type: object
              required: [app, account, consented, changed_at]
              properties:
                app: { type: string }
                account: { type: string }
                consented: { type: boolean }
                changed_at: { description: Since when it is so., $ref: '#/components/schemas/Time' }
            Consent:
              type: object
              required: [consented, changed_at]
              properties:
                consented: { type: boolean }
                changed_at: { description: Since when it is so., $ref: '#/components/schemas/Time' }

        """#
}
