extension OpenAPIParts {
    /// The parameters of reading events, in YAML; it stands within `parameters`.
    static let eventParameters = #"""
            EventsAfter:
              name: after
              in: query
              description: |
                The `next` of the page before, as it was. Empty for the oldest event that is there, `now` for those that come from now on.
              schema: { type: string, maxLength: 60, pattern: '^[A-Za-z0-9]*$' }
            EventTypes:
              name: types
              in: query
              description: Types of events with commas, each with a `*` at its end or none; at most 20. All where left out.
              schema:
                type: string
                pattern: '^([A-Za-z0-9._-]{0,250}[A-Za-z0-9._*-](,[A-Za-z0-9._-]{0,250}[A-Za-z0-9._*-]){0,19})?$'
            EventEnvironment:
              name: environment
              in: query
              description: Which of Apple's two worlds; both where left out.
              schema: { $ref: '#/components/schemas/Environment' }
            EventLimit:
              name: limit
              in: query
              description: The most events of the page.
              schema: { type: integer, minimum: 1, maximum: 1000, default: 100 }
            EventWait:
              name: wait
              in: query
              description: How many seconds to wait for an event where there is none.
              schema: { type: integer, minimum: 0, maximum: 30, default: 0 }

        """#
}

extension OpenAPISchemas {
    /// The shapes of reading events, in YAML; it goes on in `schemas`.
    static let events = #"""
            EventPage:
              type: object
              required: [events, more, next]
              properties:
                events: { type: array, description: In their order., items: { $ref: '#/components/schemas/Event' } }
                more: { type: boolean, description: Whether the next page may have events now. }
                next: { type: string, maxLength: 60, description: The cursor to go on with; to be kept once the page is dealt with. }
            AccountEventPage:
              type: object
              required: [events, more, next]
              properties:
                events:
                  type: array
                  description: In their order, which is that of `sequence`.
                  items: { $ref: '#/components/schemas/AccountEvent' }
                more: { type: boolean, description: Whether the next page may have events now. }
                next: { type: string, maxLength: 60, description: The cursor to go on with; to be kept once the page is dealt with. }
            AccountEvent:
              description: An event, as its webhook has it for a server API key; a player is told what an own order tells.
              type: object
              required: [id, type, timestamp, schema_version, environment, app, data]
              properties:
                id: { type: string, description: The same in every repetition., pattern: '^evt_[0-9a-f]{32}$' }
                type: { type: string, description: What happened; more types will come., pattern: '^iap\.' }
                timestamp: { $ref: '#/components/schemas/EventTime' }
                schema_version: { type: string }
                environment: { $ref: '#/components/schemas/Environment' }
                app: { type: string }
                customer: { $ref: '#/components/schemas/EventCustomer' }
                correlation_id: { type: string, description: Only for server API keys. }
                data: { $ref: '#/components/schemas/AccountEventData' }
            AccountEventData:
              type: object
              required: [entries, entitlements]
              properties:
                transaction: { type: object, description: 'As in `EventTransaction`; a player is told fewer members.' }
                state: { $ref: '#/components/schemas/OrderState' }
                reason: { $ref: '#/components/schemas/Reason' }
                entries: { type: array, items: { $ref: '#/components/schemas/EventEntry' } }
                entitlements: { type: array, items: { type: string } }
                subscription: { $ref: '#/components/schemas/EventSubscription' }
                previous_subscription: { $ref: '#/components/schemas/EventSubscription' }
                binding: { type: object, description: 'As in `EventBinding`; a player reads the own name only.' }
                granted_elsewhere: { type: boolean, description: Only for server API keys. }
                recovered_by: { type: string, description: Only for server API keys. }

        """#
}
