extension OpenAPIPaths {
    /// The route of webhooks, in YAML; it goes on in `paths`.
    static let webhooks = #"""
          /v1/webhooks/resend:
            post:
              operationId: postWebhooksResend
              tags: [webhooks]
              summary: Has webhooks of the app sent again.
              description: |
                What is meant is what all members are true of, by default what was given up. The notification service takes
                it up within seconds. A webhook has the `webhook-id` that it had before. One request asks for 1,000
                deliveries at most, the oldest events first; while the answer has a `next`, the same request with it as
                `after` goes on.
              security:
                - server: [operate]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: { $ref: '#/components/schemas/WebhookResend' }
              responses:
                '200':
                  description: Nothing is sent again; it was a dry run, or nothing is meant.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/WebhooksResent' }
                '202':
                  description: They are sent again within seconds.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/WebhooksResent' }
                \#(problems(400, 401, 403, 413, 415, 422, 429, 503))

        """#
}
