extension OpenAPISchemas {
    /// More of the document's last part, in YAML: purchase intents, and what Apple posts.
    static let intentsAndNotifications = #"""
            IntentRequest:
              type: object
              required: [app, product_id]
              properties:
                app: { $ref: '#/components/schemas/AppId' }
                account: { description: Required with a server API key., $ref: '#/components/schemas/AccountName' }
                product_id: { description: What the account is about to buy., $ref: '#/components/schemas/PrintableText' }
            Intent:
              type: object
              required: [id, app, account, product_id, created_at, state]
              properties:
                id:
                  description: To be set as appAccountToken or applicationUsername.
                  type: string
                  pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                app: { type: string }
                account: { type: string }
                product_id: { type: string }
                created_at: { $ref: '#/components/schemas/Time' }
                state: { type: string, enum: [open, bought], description: Bought once an order has its id. }
                transactions:
                  description: What was bought with it, the earliest first, at most 20; left out while it is open.
                  type: array
                  items: { $ref: '#/components/schemas/IntentTransaction' }
            IntentTransaction:
              type: object
              required: [transaction_id, environment, state]
              properties:
                transaction_id: { $ref: '#/components/schemas/AppleId' }
                environment: { $ref: '#/components/schemas/Environment' }
                state: { $ref: '#/components/schemas/OrderState' }
            NotificationRequest:
              description: Apple's responseBodyV2, at most 256 KiB.
              type: object
              required: [signedPayload]
              properties:
                signedPayload:
                  type: string
                  pattern: '^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$'
            Notification:
              type: object
              required: [id]
              properties:
                id: { type: string, description: The submission's id; servers may ask how it stands. }

        """#
}
