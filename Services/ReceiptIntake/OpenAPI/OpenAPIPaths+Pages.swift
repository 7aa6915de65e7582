extension OpenAPIPaths {
    /// The routes of pages and schemas, in YAML; it goes on in `paths`.
    static let pages = #"""
          /problems:
            get:
              operationId: getProblems
              tags: [document]
              summary: What each type of problem means.
              security: []
              responses:
                '200': { $ref: '#/components/responses/Page' }
                '429': { $ref: '#/components/responses/TryLater' }
          /problems/{slug}:
            get:
              operationId: getProblem
              tags: [document]
              summary: What a type of problem means; its `type` leads here.
              security: []
              parameters:
                - name: slug
                  in: path
                  required: true
                  description: The last part of a problem's `type`.
                  schema: { type: string, pattern: '^[a-z-]+$' }
              responses:
                '200': { $ref: '#/components/responses/Page' }
                \#(problems(404, 429))
          /reasons:
            get:
              operationId: getReasons
              tags: [document]
              summary: What each reason means.
              security: []
              responses:
                '200': { $ref: '#/components/responses/Page' }
                '429': { $ref: '#/components/responses/TryLater' }
          /reasons/{code}:
            get:
              operationId: getReason
              tags: [document]
              summary: What a reason means.
              security: []
              parameters:
                - name: code
                  in: path
                  required: true
                  description: The `reason` of an answer or an event.
                  schema: { type: string, pattern: '^[a-z0-9_]+$' }
              responses:
                '200': { $ref: '#/components/responses/Page' }
                \#(problems(404, 429))
          /schemas/events.json:
            get:
              operationId: getEventSchema
              tags: [document]
              summary: The JSON Schema of every event, for validators.
              security: []
              responses:
                '200':
                  description: The schema.
                  content:
                    application/schema+json:
                      schema: { $ref: '#/components/schemas/EventSchema' }
                '429': { $ref: '#/components/responses/TryLater' }
          /schemas/examples.json:
            get:
              operationId: getEventExamples
              tags: [document]
              summary: An event of each type, by type.
              security: []
              responses:
                '200':
                  description: The events.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/EventExamples' }
                '429': { $ref: '#/components/responses/TryLater' }

        """#
}

extension OpenAPISchemas {
    /// The shapes of pages and schemas, in YAML; it goes on in `schemas`.
    static let pages = #"""
            EventSchema:
              description: A JSON Schema (2020-12).
              type: object
              required: [$schema, $defs]
              additionalProperties: true
            EventExamples:
              type: object
              additionalProperties: { $ref: '#/components/schemas/Event' }

        """#
}
