extension OpenAPIPaths {
    /// The routes of reading deliveries, in YAML; it goes on in `paths`.
    static let deliveries = #"""
          /v1/webhooks/deliveries:
            get:
              operationId: getWebhookDeliveries
              tags: [webhooks]
              summary: How deliveries of the app's events stand, the newest events first.
              description: |
                While the answer has a `next`, the same request with it as `before` goes on; a page may have fewer deliveries
                than `limit`, or none, although there is a next one.
              security:
                - server: [read]
              parameters:
                - $ref: '#/components/parameters/App'
                - name: endpoint
                  in: query
                  description: An endpoint's name.
                  schema: { $ref: '#/components/schemas/PrintableText' }
                - name: event
                  in: query
                  description: One event's id.
                  schema: { $ref: '#/components/schemas/PrintableText' }
                - name: state
                  in: query
                  description: How a delivery stands.
                  schema: { $ref: '#/components/schemas/WebhookDeliveryState' }
                - name: limit
                  in: query
                  description: The most deliveries of a page.
                  schema: { type: integer, minimum: 1, maximum: 100, default: 20 }
                - name: before
                  in: query
                  description: The `next` of the page before.
                  schema: { type: string, minLength: 1, maxLength: 2000, pattern: '^[A-Za-z0-9_-]+$' }
              responses:
                '200':
                  description: Deliveries.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/WebhookDeliveries' }
                \#(problems(401, 403, 422, 429, 503))
          /v1/webhooks/deliveries/{event}/{endpoint}/attempts:
            get:
              operationId: getWebhookAttempts
              tags: [webhooks]
              summary: Every attempt to deliver an event to an endpoint, the oldest first.
              description: |
                Attempts are there for 30 days, unless the installation says otherwise. Of more than 1,000 the newest are told.
              security:
                - server: [read]
              parameters:
                - name: event
                  in: path
                  required: true
                  description: The event's id.
                  schema: { type: string }
                - name: endpoint
                  in: path
                  required: true
                  description: The endpoint's name, percent-encoded.
                  schema: { type: string }
                - $ref: '#/components/parameters/App'
              responses:
                '200':
                  description: The attempts; none where none was made yet, or where they are not there any more.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/WebhookAttempts' }
                \#(problems(401, 403, 404, 422, 429, 503))

        """#
}
