-- Runs after doubles were merged: from here on the database itself keeps a purchase from becoming two orders.
CREATE UNIQUE INDEX orders_purchase_key ON orders (environment, app, purchase_key) WHERE purchase_key IS NOT NULL;
CREATE UNIQUE INDEX orders_fallback_key ON orders (environment, app, fallback_key) WHERE fallback_key IS NOT NULL;
-- One line item under two original ids is looked for.
CREATE INDEX orders_web_order_line_item ON orders (environment, app, web_order_line_item_id)
    WHERE web_order_line_item_id IS NOT NULL;
-- Only now: where orders are removed, it would read all transaction ids for each.
ALTER TABLE order_transactions ADD CONSTRAINT order_transactions_have_an_order
    FOREIGN KEY (environment, order_transaction_id) REFERENCES orders (environment, transaction_id);
