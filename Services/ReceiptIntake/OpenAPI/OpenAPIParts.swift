/// What the paths refer to: security, parameters, answers.
enum OpenAPIParts {
    /// The document's second part, in YAML.
    static let yaml = #"""
        components:
          securitySchemes:
            player:
              type: http
              scheme: bearer
              bearerFormat: JWT
              description: The app's own token; `sub` is the account.
            server:
              type: http
              scheme: bearer
              bearerFormat: csk_…
              description: |
                A server API key of the app; it speaks for any account of it. What stands beside it at an operation is the
                scope that the key needs: `post`, `read`, `spend`, `sign` or `operate`. Without it the answer is 403 `scope-missing`.
          parameters:
            Wait:
              name: wait
              in: query
              description: How many seconds the caller waits for an outcome, or for the version `at_least`.
              schema: { type: integer, minimum: 0, maximum: 30, default: 0 }
            App:
              name: app
              in: query
              required: true
              description: The app's bundle id.
              schema: { $ref: '#/components/schemas/AppId' }
              example: com.example.game
            Environment:
              name: environment
              in: query
              description: Which of Apple's two worlds.
              schema: { $ref: '#/components/schemas/Environment', default: production }
            AccountId:
              name: id
              in: path
              required: true
              description: The account, 1 to 255 printable characters, percent-encoded UTF-8.
              schema: { $ref: '#/components/schemas/AccountName' }
              example: player-1
            EndpointId:
              name: endpoint
              in: path
              required: true
              description: The `id` of an endpoint.
              schema: { type: string }
            TransactionId:
              name: transaction_id
              in: path
              required: true
              description: Any of Apple's transaction ids of the purchase.
              schema: { $ref: '#/components/schemas/TransactionId' }
            IdempotencyKey:
              name: Idempotency-Key
              in: header
              required: true
              description: |
                The caller's name of the request, 1 to 255 printable characters of ASCII: the same for each repetition,
                another for each other request. It counts within account, app and environment, for ever.
              schema: { type: string, minLength: 1, maxLength: 255, pattern: '^[ -~]+$' }
            WebhookId:
              name: webhook-id
              in: header
              required: true
              description: The event's id, the same in every attempt.
              schema: { type: string }
            WebhookTimestamp:
              name: webhook-timestamp
              in: header
              required: true
              description: When this attempt was signed, in seconds since 1970; refuse what is more than five minutes off.
              schema: { type: string, pattern: '^[0-9]+$' }
            WebhookSignature:
              name: webhook-signature
              in: header
              required: true
              description: |
                Signatures with spaces between, by https://www.standardwebhooks.com: `v1,` and HMAC-SHA256 in base64 for each
                live secret, over `{webhook-id}.{webhook-timestamp}.{body}`. One that fits is enough; pass over versions that
                are not known.
              schema: { type: string }
        \#(eventParameters)  headers:
            IdempotentReplayed:
              description: That the answer is told again.
              required: false
              schema: { type: string, enum: ['true'] }
            RetryAfter:
              description: After how many seconds to come again.
              required: true
              schema: { type: string, pattern: '^[0-9]+$' }
            Location:
              description: Where to ask for the outcome.
              required: true
              schema: { type: string, pattern: '^/v1/purchases/' }
            EndpointLocation:
              description: The endpoint.
              required: true
              schema: { type: string, pattern: '^/v1/webhooks/endpoints/' }
            SweepLocation:
              description: Where to ask how far it is.
              required: true
              schema: { type: string, pattern: '^/v1/sweeps/' }
            ForgetLocation:
              description: Where to ask how far it is.
              required: true
              schema: { type: string, pattern: '^/v1/forget-requests/' }
          responses:
            WebhookTaken:
              description: Taken; it does not come again.
            WebhookUnwanted:
              description: The endpoint is gone and is switched off.
            WebhookAgain:
              description: Not taken, redirects too; it comes again by the schedule.
            Settled:
              description: The submission has an outcome.
              content:
                application/json:
                  schema: { $ref: '#/components/schemas/SettledPurchase' }
            Received:
              description: The submission is on disk and has no outcome yet.
              headers:
                Retry-After: { $ref: '#/components/headers/RetryAfter' }
                Location: { $ref: '#/components/headers/Location' }
              content:
                application/json:
                  schema: { $ref: '#/components/schemas/ReceivedPurchase' }
            Page:
              description: A page for people; the words may change.
              content:
                text/plain:
                  schema: { type: string }
            Problem:
              description: What is wrong with the request.
              content:
                application/problem+json:
                  schema: { $ref: '#/components/schemas/Problem' }
            TryLater:
              description: Nothing is lost; the same request may succeed later.
              headers:
                Retry-After: { $ref: '#/components/headers/RetryAfter' }
              content:
                application/problem+json:
                  schema: { $ref: '#/components/schemas/Problem' }
            BalanceInsufficient:
              description: There is not enough of the items that the problem names.
              content:
                application/problem+json:
                  schema: { $ref: '#/components/schemas/BalanceInsufficient' }
            VersionNotReached:
              description: The account's version is lower than `at_least`; the problem says which it is.
              headers:
                Retry-After: { $ref: '#/components/headers/RetryAfter' }
              content:
                application/problem+json:
                  schema: { $ref: '#/components/schemas/VersionNotReached' }

        """#
}
