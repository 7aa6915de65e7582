extension AuditRulesTests {
    static let purchases = ids + keys + sources

    private static let ids = [
        Damage(
            rule: "orders_have_their_own_id", sql: "DELETE FROM order_transactions WHERE transaction_id = 'c2'",
            named: "c2: its id is not recorded"),
        Damage(
            rule: "orders_have_their_own_id",
            sql: "UPDATE order_transactions SET order_transaction_id = 'c3' WHERE transaction_id = 'c2'",
            named: "c2: its id leads to c3"),
        Damage(
            rule: "transaction_ids_lead_to_orders",
            sql: """
                INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id)
                VALUES ('production', 'b4', 'b9', 'sub_b1')
                """, named: "production b4: order b9 is not there"),
        Damage(
            rule: "transaction_ids_lead_to_orders",
            sql: """
                INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id)
                VALUES ('sandbox', 'b4', 'b1', 'sub_b1')
                """, named: "sandbox b4: order b1 is not there"),
    ]

    private static let keys = [
        Damage(
            rule: "purchase_keys_follow_from_the_order",
            sql: "UPDATE orders SET fallback_key = 'd:s1:plus:1' WHERE transaction_id = 's1'",
            named: "s1: keys p:s1:w1 and d:s1:plus:1, should be p:s1:w1 and d:s1:plus:1767225600"),
        Damage(
            rule: "purchase_keys_follow_from_the_order",
            sql: "UPDATE orders SET purchase_key = NULL WHERE transaction_id = 'n1'",
            named: "n1: keys none and none, should be o:n1 and none"),
        Damage(
            rule: "purchase_keys_follow_from_the_order",
            sql: "UPDATE orders SET purchase_key = 'o:c1' WHERE transaction_id = 'c1'",
            named: "c1: keys o:c1 and none, should be none and none"),
        Damage(
            rule: "orders_are_distinct_purchases", sql: "DELETE FROM purchase_conflicts",
            named: "2 orders are one purchase, n2 and x1: o:n2", others: ["purchase_keys_follow_from_the_order"]),
        Damage(
            rule: "orders_are_distinct_purchases",
            sql: """
                DROP INDEX orders_purchase_key;
                UPDATE orders SET purchase_key = 'o:n1' WHERE transaction_id = 'n2'
                """, named: "n1 and n2: o:n1", others: ["purchase_keys_follow_from_the_order"]),
        Damage(
            rule: "orders_are_distinct_purchases",
            sql: """
                DROP INDEX orders_fallback_key;
                UPDATE orders SET fallback_key = 'd:s1:plus:1767225600' WHERE transaction_id = 's2'
                """, named: "s1 and s2: d:s1:plus:1767225600", others: ["purchase_keys_follow_from_the_order"]),
        Damage(
            rule: "orders_are_distinct_purchases",
            sql: "UPDATE orders SET web_order_line_item_id = 'w1' WHERE transaction_id = 's2'",
            named: "s1 and s2: p:s1:w1", others: ["purchase_keys_follow_from_the_order"]),
        Damage(
            rule: "orders_are_distinct_purchases",
            sql: "UPDATE orders SET original_transaction_id = 'p1' WHERE transaction_id = 'n3'",
            named: "n3 and p1: o:p1", others: ["purchase_keys_follow_from_the_order"]),
        Damage(
            rule: "line_items_have_one_original",
            sql: """
                UPDATE orders SET original_transaction_id = 's9', web_order_line_item_id = 'w2', purchase_key = 'p:s9:w2',
                    fallback_key = 'd:s9:plus:1767225600' WHERE transaction_id = 's1'
                """, named: "line item w2 is granted to 2 orders, under s1 and s9",
            others: ["granted_orders_are_their_lineages", "periods_have_their_subscription"]),
    ]

    private static let sources = [
        Damage(
            rule: "orders_have_their_submission",
            sql: "UPDATE orders SET submission_id = 'sub_none' WHERE transaction_id = 'c2'",
            named: "c2: submission sub_none is not there"),
        Damage(
            rule: "orders_have_their_submission", sql: "UPDATE submissions SET app = 'b' WHERE id = 'sub_c2'",
            named: "c2: submission sub_c2 is of b"),
        Damage(
            rule: "transaction_ids_have_their_submission",
            sql: "UPDATE order_transactions SET submission_id = 'sub_none' WHERE transaction_id = 'b3'",
            named: "b3: submission sub_none is not there"),
        Damage(
            rule: "refunds_are_undone_by_apple",
            sql: "UPDATE orders SET transaction = transaction - 'teller' WHERE transaction_id = 'c3'",
            named: "production c3: granted again, and only a device says so"),
        Damage(
            rule: "granted_periods_end", sql: "UPDATE orders SET expires_date = NULL WHERE transaction_id = 's1'",
            named: "production s1 of anna"),
    ]

    static let grants = [
        Damage(
            rule: "orders_grant_once",
            sql: """
                INSERT INTO ledger_entries (environment, transaction_id, kind, sequence, app, account, item, amount)
                VALUES ('production', 'n1', 'grant', 2, 'a', 'ben', 'badge', 1);
                INSERT INTO balances VALUES ('production', 'a', 'ben', 'badge', 1);
                UPDATE events SET body = replace(body, '"amount": 1', '"amount": 2') WHERE id = 'evt_4'
                """, named: "n1, badge: 2 lines bring 2"),
        Damage(
            rule: "corrections_are_of_family_copies",
            sql: "UPDATE orders SET ownership = 'PURCHASED' WHERE transaction_id = 'b1'",
            named: "b1, coin of gina: -15"),
        Damage(
            rule: "taken_back_is_what_was_brought",
            sql: unlock + """
                UPDATE ledger_entries SET amount = -21 WHERE kind = 'correction';
                UPDATE balances SET amount = -1 WHERE item = 'coin'
                """, named: "b1, coin of gina: granted 20, corrected 21, taken 0, given back 0, order is granted"),
    ]
}
