extension OpenAPISchemas {
    /// What every answer tells of an endpoint, each line as deep as members stand in the document; the first without its indentation.
    private static let endpointMembers = #"""
        id: { type: string, pattern: '^we_[0-9a-f]{32}$' }
                app: { type: string }
                url: { type: string }
                description: { type: string }
                events: { type: array, items: { type: string }, description: Patterns of types; all where empty. }
                environments:
                  description: Both where empty.
                  type: array
                  items: { $ref: '#/components/schemas/Environment' }
                schema_version: { type: string, description: The shape of events that it was made for. }
                ordered: { type: boolean, description: "Whether an account's events are sent one after the other, in their order." }
                enabled: { type: boolean }
                disabled_at: { $ref: '#/components/schemas/Time' }
                disabled_reason: { type: string }
                failing_since: { description: Since when it has only failed., $ref: '#/components/schemas/Time' }
                succeeded_at: { description: A success of late., $ref: '#/components/schemas/Time' }
                created_at: { $ref: '#/components/schemas/Time' }
                changed_at: { $ref: '#/components/schemas/Time' }
                secrets:
                  description: What signs; the newest of each scheme first.
                  type: array
                  items: { $ref: '#/components/schemas/WebhookEndpointSecret' }
                last_ping: { $ref: '#/components/schemas/WebhookPing' }
        """#

    /// The shapes of webhook endpoints, in YAML; it goes on in `schemas`.
    static let endpoints = #"""
            EndpointDescription:
              description: What it is for; 255 characters at most, without control characters and line separators.
              type: string
              maxLength: 255
              pattern: '^[^\x00-\x1F\x7F-\x9F\u2028\u2029]*$'
            EndpointEvents:
              description: A type of events, or the beginning of some and a `*`.
              type: string
              maxLength: 128
              pattern: '^(\*|i\*|ia\*|iap\*|iap\.[a-z0-9._]*\*?)$'
            EndpointAct:
              type: object
              required: [app]
              properties:
                app: { $ref: '#/components/schemas/AppId' }
                reason: { description: 'Why, for the audit log.', $ref: '#/components/schemas/PrintableText' }
            EndpointCreate:
              type: object
              required: [app, url]
              properties:
                app: { $ref: '#/components/schemas/AppId' }
                url:
                  description: An address with https, in the public internet; its port is 443, or one from 1024 on.
                  type: string
                  minLength: 1
                  maxLength: 2048
                  pattern: '^https://'
                description: { $ref: '#/components/schemas/EndpointDescription' }
                events:
                  description: 'Types of events, or beginnings and a `*`; all where empty.'
                  type: array
                  maxItems: 50
                  uniqueItems: true
                  items: { $ref: '#/components/schemas/EndpointEvents' }
                environments:
                  description: Both where empty.
                  type: array
                  maxItems: 2
                  uniqueItems: true
                  items: { $ref: '#/components/schemas/Environment' }
                schema_version: { type: string, enum: ['2026-11-01'], description: 'The shape of events; the newest where left out.' }
                ordered: { type: boolean, description: "Whether an account's events are sent one after the other, in their order." }
                ed25519: { type: boolean, default: false, description: 'Whether a key of ed25519 (`v1a`) signs beside the secret.' }
                reason: { description: 'Why, for the audit log.', $ref: '#/components/schemas/PrintableText' }
            EndpointChange:
              type: object
              required: [app]
              properties:
                app: { $ref: '#/components/schemas/AppId' }
                url:
                  description: An address with https, in the public internet; its port is 443, or one from 1024 on.
                  type: string
                  minLength: 1
                  maxLength: 2048
                  pattern: '^https://'
                description: { $ref: '#/components/schemas/EndpointDescription' }
                events:
                  description: 'Types of events, or beginnings and a `*`; all where empty.'
                  type: array
                  maxItems: 50
                  uniqueItems: true
                  items: { $ref: '#/components/schemas/EndpointEvents' }
                environments:
                  description: Both where empty.
                  type: array
                  maxItems: 2
                  uniqueItems: true
                  items: { $ref: '#/components/schemas/Environment' }
                schema_version: { type: string, enum: ['2026-11-01'], description: 'The shape of events; stays where left out.' }
                ordered: { type: boolean, description: "Whether an account's events are sent one after the other, in their order." }
                reason: { description: 'Why, for the audit log.', $ref: '#/components/schemas/PrintableText' }
            EndpointRotation:
              type: object
              required: [app]
              properties:
                app: { $ref: '#/components/schemas/AppId' }
                expires_in:
                  description: For how many seconds the secret before signs as well.
                  type: integer
                  minimum: 0
                  maximum: 2592000
                  default: 86400
                ed25519:
                  description: Adds a key of ed25519 where there is none; a key that is there is rotated anyway.
                  type: boolean
                  default: false
                reason: { description: 'Why, for the audit log.', $ref: '#/components/schemas/PrintableText' }
            WebhookEndpoint:
              type: object
              required: [id, app, url, description, events, environments, schema_version, ordered, enabled, created_at, changed_at, secrets]
              properties:
                \#(endpointMembers)
            WebhookEndpointMade:
              type: object
              required: [id, app, url, description, events, environments, schema_version, ordered, enabled, created_at, changed_at, secrets, secret]
              properties:
                \#(endpointMembers)
                secret: { type: string, description: 'The new secret, which no other answer tells.', pattern: '^whsec_' }
                public_key: { type: string, description: Of the new key of ed25519., pattern: '^whpk_' }
            WebhookEndpoints:
              type: object
              required: [endpoints]
              properties:
                endpoints:
                  type: array
                  items: { $ref: '#/components/schemas/WebhookEndpoint' }
            WebhookEndpointRemoved:
              type: object
              required: [id, removed]
              properties:
                id: { type: string }
                removed: { type: boolean }
            WebhookEndpointSecret:
              type: object
              required: [id, scheme, created_at]
              properties:
                id: { type: string }
                scheme: { type: string, enum: [v1, v1a], description: 'HMAC-SHA256 or ed25519, as Standard Webhooks names them.' }
                public_key: { type: string, pattern: '^whpk_', description: Of ed25519. }
                created_at: { $ref: '#/components/schemas/Time' }
                expires_at: { description: It signs until then., $ref: '#/components/schemas/Time' }
            WebhookPing:
              type: object
              required: [id, state, asked_at]
              properties:
                id: { type: string, pattern: '^ping_[0-9a-f]{32}$', description: The message's `webhook-id`. }
                state: { type: string, enum: [pending, delivered, failed] }
                asked_at: { $ref: '#/components/schemas/Time' }
                finished_at: { $ref: '#/components/schemas/Time' }
                status: { type: integer, description: Of the answer. }
                error: { type: string, description: Why it was not taken. }
                milliseconds: { type: integer, minimum: 0 }

        """#
}
