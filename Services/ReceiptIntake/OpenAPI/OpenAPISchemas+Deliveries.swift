extension OpenAPISchemas {
    /// The shapes of deliveries and their attempts, in YAML; it goes on in `schemas`.
    static let deliveries = #"""
            WebhookDeliveryState:
              type: string
              enum: [abandoned, delivered, pending]
            WebhookDeliveries:
              type: object
              required: [deliveries]
              properties:
                deliveries:
                  type: array
                  items: { $ref: '#/components/schemas/WebhookDelivery' }
                next: { type: string, description: There may be more; what to send as `before`. }
            WebhookDelivery:
              type: object
              required: [event, type, environment, endpoint, state, attempts, created_at, waits_for_turn]
              properties:
                event: { type: string, description: 'The event''s id, which is the `webhook-id`.' }
                type: { type: string, description: The event's type. }
                environment: { $ref: '#/components/schemas/Environment' }
                endpoint: { type: string, description: The endpoint's name. }
                state: { $ref: '#/components/schemas/WebhookDeliveryState' }
                attempts: { type: integer, minimum: 0, description: How many were begun. }
                created_at: { type: string, format: date-time }
                delivered_at: { type: string, format: date-time }
                next_attempt_at:
                  type: string
                  format: date-time
                  description: When it is tried again, at the earliest; left out where it is not, or waits for its turn.
                waits_for_turn:
                  type: boolean
                  description: Whether it waits for an event of the same account that comes before it, since its endpoint is ordered.
                last_status: { type: integer, description: The status that the last attempt was answered with. }
                last_error: { type: string, description: Why the last attempt failed. }
            WebhookAttempts:
              type: object
              required: [event, endpoint, attempts]
              properties:
                event: { type: string }
                endpoint: { type: string }
                attempts:
                  type: array
                  items: { $ref: '#/components/schemas/WebhookAttempt' }
            WebhookAttempt:
              type: object
              required: [number, at, milliseconds]
              properties:
                number: { type: integer, minimum: 1, description: Which attempt of the delivery. }
                at: { type: string, format: date-time, description: When it began. }
                milliseconds: { type: integer, minimum: 0, description: How long it took. }
                status: { type: integer, description: The answer's status; left out where there was no answer. }
                error: { type: string, description: Why there was no answer. }
                answer:
                  type: string
                  description: The beginning of the answer, 2 kB at most; a space stands for each control character.

        """#
}
