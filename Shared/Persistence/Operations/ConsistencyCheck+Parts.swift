/// How each rule that reads tables that grow is asked in parts; a rule that is not named here reads little, or what it reads is
/// found by an index.
extension ConsistencyCheck {
    /// Something that the report counts.
    struct Count: Sendable {
        let table: String
        /// By this column; nil for one number.
        var group: String?
    }

    static let counted = [
        Count(table: "orders", group: "state"), Count(table: "order_transactions"),
        Count(table: "submissions", group: "state"), Count(table: "ledger_entries"), Count(table: "balances"),
        Count(table: "events"), Count(table: "entitlements"), Count(table: "lineages"),
        Count(table: "subscriptions", group: "state"), Count(table: "spends"),
    ]

    /// The parts of a rule, by its name; nil where it is one statement.
    ///
    /// - Parameter results: of the rules before it.
    static func parts(of rule: String, after results: [RuleResult]) -> AuditParts? {
        guard rule == "orders_are_distinct_purchases" else { return partsByRule[rule] }
        // Two orders with the same key have the original id in common that stands in it, unless the key is a wrong one.
        let areKeysRight = results.contains { $0.name == "purchase_keys_follow_from_the_order" && $0.violations == 0 }
        return areKeysRight ? .ranges(of: [.original("orders")]) : nil
    }

    private static let partsByRule: [String: AuditParts] = byOrder.merging(byLineage) { $1 }
        .merging(byAccount) { $1 }.merging(byPages) { $1 }

    /// Rules that join by an order's own id.
    private static let byOrder: [String: AuditParts] = [
        "entries_belong_to_their_order": .ranges(of: [.ledger, .orders]),
        "taken_back_is_what_was_brought": .ranges(of: [.ledger, .orders]),
        "orders_grant_once": .ranges(of: [.ledger]),
        "corrections_are_of_family_copies": .ranges(of: [.ledger, .orders]),
        "granted_elsewhere_is_not_granted_here": .ranges(of: [.ledger, .orders]),
        "granted_orders_have_entries": .ranges(of: [.orders, .ledger, .entitlements, .events]),
        "orders_have_their_own_id": .ranges(of: [.orders, .ids]),
        "tokens_name_the_account": .ranges(of: [.orders, .events]),
        "items_are_with_their_token": .ranges(of: [.ledger, .orders, .events]),
        "entitlements_belong_to_their_order": .ranges(of: [.entitlements, .orders]),
        "granted_orders_have_entitlements": .ranges(of: [.orders, .entitlements, .events]),
        "revoked_orders_entitle_to_nothing": .ranges(of: [.entitlements, .orders]),
        "entitlements_are_taken_with_cause": .ranges(of: [.entitlements, .orders]),
        "events_tell_what_was_granted": .ranges(of: [.ledger, .events]),
        "events_tell_what_was_taken": .ranges(of: [.ledger, .events]),
        "granted_orders_have_one_event": .ranges(of: [.orders, .events]),
        "revoked_orders_have_their_event": .ranges(of: [.orders, .events]),
    ]

    /// Rules that join or group by an original transaction id.
    private static let byLineage: [String: AuditParts] = [
        "granted_orders_are_their_lineages": .ranges(of: [.original("orders"), .original("lineages")]),
        "lineages_follow_their_history": .ranges(of: [.original("lineages"), .original("binding_history")]),
        "bindings_go_on_from_each_other": .ranges(of: [.original("binding_history")]),
        "shares_have_an_owner": .ranges(
            of: [.original("lineage_shares"), .original("lineages"), .original("binding_history")]),
        "periods_have_their_subscription": .ranges(of: [.original("orders"), .original("subscriptions")]),
    ]

    /// Rules that group by account or by what caused a line, of which no index has all.
    private static let byAccount: [String: AuditParts] = [
        "balances_equal_entries": .shares(
            of: [
                .init(table: "ledger_entries", expression: "account"), .init(table: "balances", expression: "account"),
            ]),
        "spends_are_covered": .shares(of: [.init(table: "ledger_entries", expression: "account")]),
        "entries_are_numbered": .shares(
            of: [
                .init(
                    table: "ledger_entries",
                    expression: "coalesce(transaction_id, spend_id::text, audit_id::text)")
            ]),
        "spends_equal_their_entries": .shares(
            of: [
                .init(table: "spends", expression: "id::text"),
                .init(table: "ledger_entries", expression: "spend_id::text"),
            ]),
        "sequences_have_no_gaps": .ranges(
            of: [
                .init(table: "events", expression: "account", isBehindEnvironment: false),
                .init(table: "account_sequences", expression: "account", isBehindEnvironment: false),
            ]),
    ]

    /// Rules that look at each row of a table by itself.
    private static let byPages: [String: AuditParts] = [
        "entries_belong_to_their_spend": .pages(of: "ledger_entries"),
        "entries_belong_to_their_audit_row": .pages(of: "ledger_entries"),
        "transaction_ids_lead_to_orders": .pages(of: "order_transactions"),
        "transaction_ids_have_their_submission": .pages(of: "order_transactions"),
        "purchase_keys_follow_from_the_order": .pages(of: "orders"),
        "orders_have_their_submission": .pages(of: "orders"),
        "orders_have_their_catalogue": .pages(of: "orders"),
        "granted_periods_end": .pages(of: "orders"),
        "fulfilled_submissions_have_orders": .pages(of: "submissions"),
        "unsettled_submissions_have_their_proof": .pages(of: "submissions"),
        "proofs_have_their_header": .ranges(
            of: [.init(table: "submission_proofs", expression: "received_at", isBehindEnvironment: false)]),
        "subscriptions_have_their_order": .pages(of: "subscriptions"),
        "subscriptions_end_by_the_clock": .pages(of: "subscriptions"),
    ]
}

extension AuditParts.Column {
    fileprivate static let orders = Self(table: "orders", expression: "transaction_id")
    fileprivate static let ids = Self(table: "order_transactions", expression: "transaction_id")
    fileprivate static let entitlements = Self(table: "entitlements", expression: "transaction_id")
    /// Lines of spends and of adjustments have no transaction.
    fileprivate static let ledger = Self(table: "ledger_entries", expression: "transaction_id", hasNulls: true)
    fileprivate static let events = Self(table: "events", expression: "transaction_id")
    fileprivate static func original(_ table: String) -> Self {
        Self(table: table, expression: "original_transaction_id")
    }
}
