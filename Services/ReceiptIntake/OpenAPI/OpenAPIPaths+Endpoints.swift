extension OpenAPIPaths {
    /// The routes of webhook endpoints, in YAML; it goes on in `paths`.
    static let endpoints = #"""
          /v1/webhooks/endpoints:
            get:
              operationId: listWebhookEndpoints
              tags: [webhooks]
              summary: The endpoints of the app.
              description: |
                Those that are told of this app alone and are kept in the database. Endpoints of the operator's webhooks file are not here.
              security:
                - server: [read]
              parameters:
                - $ref: '#/components/parameters/App'
              responses:
                '200':
                  description: All of them; the oldest first.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/WebhookEndpoints' }
                \#(problems(401, 403, 422, 429, 503))
            post:
              operationId: postWebhookEndpoint
              tags: [webhooks]
              summary: Makes an endpoint.
              description: |
                It is told of every event that is taken over from some seconds later on, and of none before. The answer has its
                `secret`, which no other answer tells.
              security:
                - server: [operate]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: { $ref: '#/components/schemas/EndpointCreate' }
              responses:
                '201':
                  description: It is made; the secret is told here alone.
                  headers:
                    Location: { $ref: '#/components/headers/EndpointLocation' }
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/WebhookEndpointMade' }
                \#(problems(400, 401, 403, 409, 413, 415, 422, 429, 503))
          /v1/webhooks/endpoints/{endpoint}:
            get:
              operationId: getWebhookEndpoint
              tags: [webhooks]
              summary: An endpoint as it stands.
              security:
                - server: [read]
              parameters:
                - $ref: '#/components/parameters/EndpointId'
                - $ref: '#/components/parameters/App'
              responses:
                '200':
                  description: As it stands.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/WebhookEndpoint' }
                \#(problems(401, 403, 404, 422, 429, 503))
            patch:
              operationId: patchWebhookEndpoint
              tags: [webhooks]
              summary: Changes an endpoint; what is left out stays.
              description: |
                It is in use within seconds. What waits for the endpoint goes to the new address.
              security:
                - server: [operate]
              parameters:
                - $ref: '#/components/parameters/EndpointId'
              requestBody:
                required: true
                content:
                  application/json:
                    schema: { $ref: '#/components/schemas/EndpointChange' }
              responses:
                '200':
                  description: As it stands now.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/WebhookEndpoint' }
                \#(problems(400, 401, 403, 404, 413, 415, 422, 429, 503))
            delete:
              operationId: deleteWebhookEndpoint
              tags: [webhooks]
              summary: Removes an endpoint with its secrets.
              description: |
                What waits for it is taken away: it is sent to nobody. To pause an endpoint, disable it.
              security:
                - server: [operate]
              parameters:
                - $ref: '#/components/parameters/EndpointId'
                - $ref: '#/components/parameters/App'
              responses:
                '200':
                  description: It is removed.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/WebhookEndpointRemoved' }
                \#(problems(401, 403, 404, 422, 429, 503))
          /v1/webhooks/endpoints/{endpoint}/enable:
            post:
              operationId: enableWebhookEndpoint
              tags: [webhooks]
              summary: Switches an endpoint on; what waited for it goes out.
              security:
                - server: [operate]
              parameters:
                - $ref: '#/components/parameters/EndpointId'
              requestBody:
                required: true
                content:
                  application/json:
                    schema: { $ref: '#/components/schemas/EndpointAct' }
              responses:
                '200':
                  description: It is on.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/WebhookEndpoint' }
                \#(problems(400, 401, 403, 404, 413, 415, 422, 429, 503))
          /v1/webhooks/endpoints/{endpoint}/disable:
            post:
              operationId: disableWebhookEndpoint
              tags: [webhooks]
              summary: Switches an endpoint off; what it would be told waits.
              security:
                - server: [operate]
              parameters:
                - $ref: '#/components/parameters/EndpointId'
              requestBody:
                required: true
                content:
                  application/json:
                    schema: { $ref: '#/components/schemas/EndpointAct' }
              responses:
                '200':
                  description: It is off.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/WebhookEndpoint' }
                \#(problems(400, 401, 403, 404, 413, 415, 422, 429, 503))
          /v1/webhooks/endpoints/{endpoint}/ping:
            post:
              operationId: pingWebhookEndpoint
              tags: [webhooks]
              summary: Sends an endpoint one signed message of the type `countersign.ping`.
              description: |
                It goes to this endpoint alone, whatever events it takes and whether it is on, and is not tried again. With `wait` the
                answer tells what came of it; without, the endpoint's `last_ping` does.
              security:
                - server: [operate]
              parameters:
                - $ref: '#/components/parameters/EndpointId'
                - $ref: '#/components/parameters/Wait'
              requestBody:
                required: true
                content:
                  application/json:
                    schema: { $ref: '#/components/schemas/EndpointAct' }
              responses:
                '200':
                  description: What came of it.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/WebhookPing' }
                '202':
                  description: It is sent within seconds.
                  headers:
                    Retry-After: { $ref: '#/components/headers/RetryAfter' }
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/WebhookPing' }
                \#(problems(400, 401, 403, 404, 413, 415, 422, 429, 503))
          /v1/webhooks/endpoints/{endpoint}/rotate:
            post:
              operationId: rotateWebhookSecret
              tags: [webhooks]
              summary: Makes a new secret; the one before signs for a while longer.
              description: |
                Every live secret signs each webhook. Two are live at most: while they are, another rotation is 409 `secret-rotating`.
              security:
                - server: [operate]
              parameters:
                - $ref: '#/components/parameters/EndpointId'
              requestBody:
                required: true
                content:
                  application/json:
                    schema: { $ref: '#/components/schemas/EndpointRotation' }
              responses:
                '200':
                  description: The new secret is told here alone.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/WebhookEndpointMade' }
                \#(problems(400, 401, 403, 404, 409, 413, 415, 422, 429, 503))
          /v1/webhooks/endpoints/{endpoint}/secrets/expire:
            post:
              operationId: expireWebhookSecrets
              tags: [webhooks]
              summary: Ends the secrets at once that newer ones took the place of.
              security:
                - server: [operate]
              parameters:
                - $ref: '#/components/parameters/EndpointId'
              requestBody:
                required: true
                content:
                  application/json:
                    schema: { $ref: '#/components/schemas/EndpointAct' }
              responses:
                '200':
                  description: The newest ones alone sign.
                  content:
                    application/json:
                      schema: { $ref: '#/components/schemas/WebhookEndpoint' }
                \#(problems(400, 401, 403, 404, 413, 415, 422, 429, 503))

        """#
}
