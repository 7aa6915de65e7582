extension OpenAPISchemas {
    /// The shapes of exporting and forgetting, in YAML; it goes on in `schemas`.
    static let forgetting = #"""
            AccountExport:
              type: object
              required:
                [schema_version, app, account, exported_at, account_tokens, purchase_intents,
                 account_consents, submissions, import_lines, orders, lineages, lineage_shares, lineage_claims,
                 binding_history,
                 renewal_statements, subscriptions, entitlements, ledger_entries,
                 balances, spends, events, webhook_deliveries, apple_calls,
                 operator_claims, audit_log]
              properties:
                schema_version: { type: string, description: The date of this shape; it grows only by members. }
                app: { type: string }
                account: { type: string }
                exported_at: { $ref: '#/components/schemas/Time' }
                account_tokens: { $ref: '#/components/schemas/ExportedRows' }
                purchase_intents: { $ref: '#/components/schemas/ExportedRows' }
                account_consents: { $ref: '#/components/schemas/ExportedRows' }
                submissions: { $ref: '#/components/schemas/ExportedRows' }
                import_lines: { $ref: '#/components/schemas/ExportedRows' }
                orders: { $ref: '#/components/schemas/ExportedRows' }
                lineages: { $ref: '#/components/schemas/ExportedRows' }
                lineage_shares: { $ref: '#/components/schemas/ExportedRows' }
                lineage_claims: { $ref: '#/components/schemas/ExportedRows' }
                binding_history: { $ref: '#/components/schemas/ExportedRows' }
                renewal_statements: { $ref: '#/components/schemas/ExportedRows' }
                subscriptions: { $ref: '#/components/schemas/ExportedRows' }
                entitlements: { $ref: '#/components/schemas/ExportedRows' }
                ledger_entries: { $ref: '#/components/schemas/ExportedRows' }
                balances: { $ref: '#/components/schemas/ExportedRows' }
                spends: { $ref: '#/components/schemas/ExportedRows' }
                events: { $ref: '#/components/schemas/ExportedRows' }
                webhook_deliveries: { $ref: '#/components/schemas/ExportedRows' }
                apple_calls: { $ref: '#/components/schemas/ExportedRows' }
                operator_claims: { $ref: '#/components/schemas/ExportedRows' }
                audit_log: { $ref: '#/components/schemas/ExportedRows' }
            ExportedRows:
              description: Rows, sorted, with columns as members; a column that is null is left out.
              type: array
              items: { type: object }
            ForgetRequest:
              type: object
              required: [app]
              properties:
                app: { $ref: '#/components/schemas/AppId' }
                reason: { description: 'Why, for the audit log.', $ref: '#/components/schemas/PrintableText' }
            ForgetStatus:
              type: object
              required: [id, state, requested_at, changed]
              properties:
                id: { type: string, pattern: '^fgt_[0-9a-f]{32}$' }
                state: { type: string, enum: [under_way, finished] }
                requested_at: { $ref: '#/components/schemas/Time' }
                finished_at: { $ref: '#/components/schemas/Time' }
                waits_for: { type: string, description: Why nothing is done yet; the words may change. }
                changed: { type: object, description: How many rows were changed or removed by table. }

        """#
}
