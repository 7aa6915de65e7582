extension OpenAPISchemas {
    /// The shapes of webhooks that are sent again, in YAML; it goes on in `schemas`.
    static let webhooks = #"""
            WebhookResend:
              type: object
              required: [app]
              properties:
                app: { $ref: '#/components/schemas/AppId' }
                event: { description: One event's id., $ref: '#/components/schemas/PrintableText' }
                endpoint: { description: An endpoint's name., $ref: '#/components/schemas/PrintableText' }
                type:
                  description: A type of events, or the beginning of some and a `*`.
                  type: string
                  maxLength: 255
                  pattern: '^[A-Za-z0-9._-]+\*?$|^\*$'
                environment: { description: both where left out, $ref: '#/components/schemas/Environment' }
                account: { description: Whose events., $ref: '#/components/schemas/AccountName' }
                state:
                  description: Of the deliveries; what was delivered before is sent again only where this says so.
                  type: string
                  enum: [abandoned, delivered, pending, all]
                  default: abandoned
                since: { description: Events of this time or later., $ref: '#/components/schemas/TimeOrDay' }
                until: { description: Events of before this time., $ref: '#/components/schemas/TimeOrDay' }
                after: { type: string, minLength: 1, maxLength: 2000, description: The `next` of the answer before. }
                limit: { type: integer, minimum: 1, maximum: 1000, default: 1000 }
                dry_run: { type: boolean, default: false, description: Only counts. }
                reason:
                  description: Why, for the audit log; required unless it is a dry run.
                  $ref: '#/components/schemas/PrintableText'
            WebhooksResent:
              type: object
              required: [deliveries, groups, asked]
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
              properties:
                endpoint: { type: string }
                state: { type: string, enum: [abandoned, delivered, pending] }
                deliveries: { type: integer, minimum: 1 }

        """#
}
