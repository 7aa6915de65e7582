-- Receipts and bare transaction ids beside signed transactions; alarms for what nothing can be learnt of.

ALTER TABLE submissions
    ADD COLUMN named_transaction_id text,        -- which transaction of a receipt the app names as the account's
    ADD COLUMN expected_environment text,        -- what the app was built for: a hint, never a proof
    ADD COLUMN alarmed_at           timestamptz, -- when it was too old without an outcome; it stays due all the same
    ADD CONSTRAINT submissions_expected_environment_is_known
        CHECK (expected_environment IN ('production', 'sandbox'));

ALTER TABLE orders
    ADD COLUMN test_purchase text,               -- nobody paid for it; null for everything else
    ADD CONSTRAINT orders_test_purchases_are_sandbox CHECK (test_purchase IS NULL OR environment = 'sandbox');

-- Who later names a transaction that was parked because a receipt held it, finds it by its key; operators by this.
CREATE INDEX orders_unclaimed ON orders (app, created_at) WHERE state = 'parked' AND reason = 'unclaimed';

-- Doubts that end by themselves are looked for every second, among ever more orders that nobody claims.
CREATE INDEX orders_in_doubt ON orders (app, product_id)
    WHERE state = 'parked' AND reason IN ('product_unknown', 'account_token_unknown');

-- An account's transactions are read page by page, newest first.
DROP INDEX orders_account;
CREATE INDEX orders_account ON orders (account, app, environment, created_at DESC, transaction_id DESC)
    WHERE account IS NOT NULL;
