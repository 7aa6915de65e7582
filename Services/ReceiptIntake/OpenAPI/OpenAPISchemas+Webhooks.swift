extension OpenAPISchemas {
    /// The shapes of webhooks that are sent again, in YAML; it goes on in `schemas`.
    static let webhooks = #"""
            WebhookResend:
              type: object
              required: [app]
              properties:
                app: { type: string }
                event: { type: string, description: One event's id. }
                endpoint: { type: string, description: An endpoint's name. }
                type: { type: string, description: 'A type of events, * at the end for all that begin so.' }
                environment: { description: both where left out, $ref: '#/components/schemas/Environment' }
                account: { type: string, description: Whose events. }
                state:
                  description: Of the deliveries; what was delivered before is sent again only where this says so.
                  type: string
                  enum: [abandoned, delivered, pending, all]
                  default: abandoned
                since: { type: string, description: 'Events of this time (RFC 3339) or day, or later.' }
                until: { type: string, description: Events of before this time or day. }
                after: { type: string, maxLength: 2000, description: The `next` of the answer before. }
                limit: { type: integer, minimum: 1, maximum: 1000, default: 1000 }
                dry_run: { type: boolean, default: false, description: Only counts. }
                reason: { type: string, maxLength: 255, description: 'Why, for the audit log; required unless it is a dry run.' }
            WebhooksResent:
              type: object
              required: [deliveries, groups, asked]
              additionalProperties: false
              properties:
                deliveries: { type: integer, description: 'How many are sent again, or would be.' }
                groups:
                  type: array
                  items: { $ref: '#/components/schemas/WebhooksResentGroup' }
                asked: { type: boolean, description: Whether they are sent again. }
                next: { type: string, description: There may be more; what to send as `after`. }
            WebhooksResentGroup:
              type: object
              required: [endpoint, state, deliveries]
              additionalProperties: false
              properties:
                endpoint: { type: string }
                state: { type: string, enum: [abandoned, delivered, pending] }
                deliveries: { type: integer, minimum: 1 }

        """#
}
