extension OpenAPIPaths {
    /// The routes by which events are pulled and followed, in YAML; it goes on in `paths`.
    static let events = #"""
          /v1/events:
            get:
              operationId: getEvents
              tags: [webhooks]
              summary: Events of an app in one order, a page at a time.
              description: |
                The bodies that webhooks have. Nothing that is committed is missed, whatever is written meanwhile. A reader keeps
                `next` once it has dealt with the page, and sends it as `after`; who dies before that reads the page again.
                Events stay for the time of retention.
              security:
                - server: [read]
              parameters:
                - $ref: '#/components/parameters/App'
                - $ref: '#/components/parameters/EventsAfter'
                - $ref: '#/components/parameters/EventTypes'
                - $ref: '#/components/parameters/EventEnvironment'
                - name: account
                  in: query
                  description: Whose events alone.
                  schema: { $ref: '#/components/schemas/AccountName' }
                - $ref: '#/components/parameters/EventLimit'
                - $ref: '#/components/parameters/EventWait'
              responses:
                '200':
                  description: A page; without events where there are none.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/EventPage' }
                \#(problems(401, 403, 410, 422, 429, 503))
          /v1/accounts/{id}/events:
            get:
              operationId: getAccountEvents
              tags: [reading]
              summary: An account's events, as a page or as a stream.
              description: |
                With `Accept: text/event-stream` the answer is a stream of server-sent events from now on, or from `Last-Event-ID`
                or `after` on: `data:` is an event, `id:` its cursor. It has a line every 15 seconds at least, and ends when the
                credentials do; the reader comes back with `Last-Event-ID`, as browsers do by themselves. Otherwise it is a page
                like that of `/v1/events`, and without `after` it begins with the oldest event. A player reads of an event what an
                own order tells.
              security:
                - player: []
                - server: [read]
              parameters:
                - $ref: '#/components/parameters/AccountId'
                - $ref: '#/components/parameters/App'
                - $ref: '#/components/parameters/EventsAfter'
                - name: Last-Event-ID
                  in: header
                  description: The `id` of the last event that a stream had; it goes before `after`.
                  schema: { type: string, maxLength: 60, pattern: '^[A-Za-z0-9]*$' }
                - $ref: '#/components/parameters/EventTypes'
                - $ref: '#/components/parameters/EventEnvironment'
                - $ref: '#/components/parameters/EventLimit'
                - $ref: '#/components/parameters/EventWait'
              responses:
                '200':
                  description: A page, or a stream.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/AccountEventPage' }
                    text/event-stream:
                      schema: { type: string }
                \#(problems(401, 403, 404, 410, 422, 429, 503))

        """#
}
