extension OpenAPISchemas {
    /// The shapes of spending, in YAML; it goes on in `schemas`.
    static let wallet = #"""
            SpendRequest:
              type: object
              required: [app, items]
              properties:
                app: { $ref: '#/components/schemas/AppId' }
                environment: { description: production where left out., $ref: '#/components/schemas/Environment' }
                items:
                  description: 1 to 50 items of distinct names.
                  type: array
                  minItems: 1
                  maxItems: 50
                  items: { $ref: '#/components/schemas/SpendItem' }
                reference:
                  description: The studio's own word for what is bought.
                  $ref: '#/components/schemas/PrintableText'
            SpendItem:
              type: object
              required: [item, amount]
              properties:
                item: { type: string, minLength: 1, maxLength: 255, pattern: '^[^\x00]*$', description: 'Its name in the catalogue, at most 255 bytes.' }
                amount: { type: integer, format: int64, minimum: 1, maximum: 1000000000000 }
            Spend:
              type: object
              required: [id, app, environment, account, items, balances, created_at]
              properties:
                id: { type: string, pattern: '^spend_[0-9]+$' }
                app: { type: string }
                environment: { $ref: '#/components/schemas/Environment' }
                account: { type: string }
                items: { type: array, items: { $ref: '#/components/schemas/SpendItem' } }
                balances:
                  description: What remained of these items right after.
                  type: array
                  items: { $ref: '#/components/schemas/Balance' }
                reference: { type: string }
                created_at: { $ref: '#/components/schemas/Time' }
            BalanceInsufficient:
              description: RFC 9457; nothing is spent, and nothing remembered.
              type: object
              required: [type, title, status, items]
              properties:
                type: { type: string, const: /problems/balance-insufficient }
                title: { type: string }
                status: { type: integer, enum: [409] }
                detail: { type: string }
                instance: { type: string }
                items: { type: array, items: { $ref: '#/components/schemas/Shortage' } }
            Shortage:
              type: object
              required: [item, amount, balance]
              properties:
                item: { type: string }
                amount: { type: integer, format: int64, description: How many were to be spent. }
                balance: { type: integer, format: int64, description: How many there are; below zero is a debt. }

        """#
}
