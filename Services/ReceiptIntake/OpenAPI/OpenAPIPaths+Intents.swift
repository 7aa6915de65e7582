extension OpenAPIPaths {
    /// More of the document's first part, in YAML: purchase intents, and what Apple posts.
    static let intentsAndNotifications = #"""
          /v1/intents:
            post:
              operationId: postIntent
              tags: [purchases]
              summary: Says that an account is about to buy a product; gives a UUID to buy it with.
              description: |
                The app sets the `id` as appAccountToken (StoreKit 2) or applicationUsername (StoreKit 1), and Apple's
                signed data names the account from then on. One for each purchase, when the player buys. Every request
                opens another; one that nobody uses does no harm. An unknown product is no error.
              security:
                - player: []
                - server: [post]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: { $ref: '#/components/schemas/IntentRequest' }
              responses:
                '201':
                  description: The intent is on disk, and its id is the account's token.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/Intent' }
                \#(problems(400, 401, 403, 413, 415, 422, 429, 503))
          /v1/intents/{id}:
            get:
              operationId: getIntent
              tags: [purchases]
              summary: Whether something was bought with an intent.
              description: A player reads own intents only.
              security:
                - player: []
                - server: [post]
              parameters:
                - name: id
                  in: path
                  required: true
                  description: The intent's UUID.
                  schema: { type: string, format: uuid }
                - $ref: '#/components/parameters/App'
              responses:
                '200':
                  description: The intent.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/Intent' }
                \#(problems(401, 403, 404, 422, 429, 503))
          /v1/notifications:
            post:
              operationId: postNotification
              tags: [notifications]
              summary: Takes a server notification of Apple's; on disk when it is answered.
              description: |
                The address for App Store Connect (version 2, production and sandbox). The signature inside is the only
                credential: what the App Store did not sign is 400 and is not kept. Any content type is taken. The same again
                is the same submission.
              security: []
              requestBody:
                required: true
                content:
                  application/json:
                    schema: { $ref: '#/components/schemas/NotificationRequest' }
              responses:
                '200':
                  description: The notification is on disk.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/Notification' }
                \#(problems(400, 404, 408, 503))

        """#
}
