extension OpenAPIParts {
    /// The parameters of reading events, in YAML; it stands within `parameters`.
    static let eventParameters = #"""
            EventsAfter:
              name: after
              in: query
              description: |
                The `next` of the page before, as it was. Empty for the oldest event that is there, `now` for those that come from now on.
              schema: { type: string, maxLength: 60 }
            EventTypes:
              name: types
              in: query
              description: Types of events with commas, each with a `*` at its end or none; at most 20. All where left out.
              schema: { type: string }
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
                events:
                  type: array
                  description: In their order; an account's by its `sequence`. A player's have fewer members.
                  items: { $ref: '#/components/schemas/PulledEvent' }
                more: { type: boolean, description: Whether the next page may have events now. }
                next: { type: string, maxLength: 60, description: The cursor to go on with; to be kept once the page is dealt with. }
            PulledEvent:
              type: object
              description: An event, as its webhook has it.
              required: [id, type, timestamp, schema_version, environment, app, data]
              properties:
                id: { type: string, description: The same in every repetition. }
                type: { type: string }
                timestamp: { type: string, format: date-time }
                schema_version: { type: string }
                environment: { $ref: '#/components/schemas/Environment' }
                app: { type: string }
                data: { type: object }

        """#
}
