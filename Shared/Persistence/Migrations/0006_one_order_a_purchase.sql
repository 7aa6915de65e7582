-- An order is one purchase. Apple gives a purchase one transaction id or several (a restore, another device, a re-grant);
-- each of them is a row of order_transactions and leads to the one order.

-- A purchase has a key of its own beside Apple's transaction ids (PurchaseKey in PurchaseModel):
--   o:<original>                        what is bought once: a non-consumable, a non-renewing subscription, or unstated
--   p:<original>:<webOrderLineItemId>   a period of an auto-renewable subscription
--   d:<original>:<product>:<seconds>    the same period, where Apple's data lacks the webOrderLineItemId
-- A consumable has none: its one transaction id is its key.
ALTER TABLE orders
    ADD COLUMN purchase_key           text,
    ADD COLUMN fallback_key           text,
    ADD COLUMN web_order_line_item_id text;      -- null where Apple's data has none, or 0

-- Every transaction id that Apple gave to a purchase. orders.transaction_id is the one under which it was recorded first:
-- the order's own id, which never changes.
CREATE TABLE order_transactions (
    environment          text NOT NULL,
    transaction_id       text NOT NULL,
    order_transaction_id text NOT NULL,
    submission_id        text NOT NULL,          -- which submission told of this id first
    statement            jsonb,                  -- what Apple signed under this id; null where the order has one id
    created_at           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (environment, transaction_id)
);
INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id, created_at)
SELECT environment, transaction_id, transaction_id, submission_id, created_at FROM orders;
-- Nearly all orders have one id; the others are looked for by their order.
CREATE INDEX order_transactions_further ON order_transactions (environment, order_transaction_id)
    WHERE transaction_id <> order_transaction_id;

-- Signed data that contradicts what is known: one line item under two original ids, ids that reach two orders.
-- Nothing was granted by it; a person looks.
CREATE TABLE purchase_conflicts (
    id                   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment          text NOT NULL,
    app                  text NOT NULL,
    transaction_id       text NOT NULL,          -- of the signed data
    order_transaction_id text NOT NULL,          -- the order that it contradicts
    cause                text NOT NULL,
    submission_id        text NOT NULL,
    created_at           timestamptz NOT NULL DEFAULT now(),
    resolved_at          timestamptz,
    CONSTRAINT purchase_conflicts_cause_is_known
        CHECK (cause IN ('line_item_of_another', 'two_line_items', 'two_orders', 'original_differs')),
    CONSTRAINT purchase_conflicts_once UNIQUE (environment, transaction_id, order_transaction_id, cause)
);

ALTER TABLE submissions
    -- Whether the studio's server posted it, whose word is enough; a player's token proves who posts, not who bought.
    ADD COLUMN is_server          boolean NOT NULL DEFAULT false,
    -- Real answers of Apple's that it knows no such id. Of one sending (attempts) one answer counts, however often its
    -- verdict is delivered.
    ADD COLUMN not_found_count    integer NOT NULL DEFAULT 0,
    ADD COLUMN not_found_attempt  integer,       -- attempts, when the last one was counted
    ADD COLUMN first_not_found_at timestamptz,
    -- What was rejected because of it is opened again: by the same post, at a pace, and when an order of it appears.
    ADD COLUMN reopened_count     integer NOT NULL DEFAULT 0, -- by posts
    ADD COLUMN reopened_at        timestamptz;
-- Apple did not know the id: looked for again when an order of it appears.
CREATE INDEX submissions_not_found ON submissions (app, coalesce(named_transaction_id, proof))
    WHERE state = 'rejected' AND reason IN ('transaction_not_found', 'transaction_not_in_receipt')
        AND kind IN ('transaction_id', 'receipt') AND length(coalesce(named_transaction_id, proof)) < 100;
-- What an operator asks: how many were rejected lately, how many are parked, and since when, by reason.
CREATE INDEX submissions_rejected ON submissions (settled_at, reason) WHERE state = 'rejected';
CREATE INDEX submissions_parked ON submissions (reason, settled_at) WHERE state = 'parked';

-- When Apple signed what bound the lineage: a transfer needs a proof that was signed later.
ALTER TABLE lineages ADD COLUMN bound_signed_date timestamptz,
    ADD COLUMN open_since timestamptz,           -- periods bought from then on wait for whoever paid them
    ADD COLUMN claimed_purchase_date timestamptz; -- of the newest period of which the owner showed evidence
ALTER TABLE lineages DROP CONSTRAINT lineages_cause_is_known,
    ADD CONSTRAINT lineages_cause_is_known CHECK (cause IN ('token', 'possession', 'purchase', 'transfer', 'operator'));
ALTER TABLE binding_history DROP CONSTRAINT binding_history_cause_is_known,
    ADD CONSTRAINT binding_history_cause_is_known
        CHECK (cause IN ('token', 'possession', 'purchase', 'transfer', 'share', 'operator'));

-- A claim is heard once for a lineage, an account, a transaction and the date of signing: one signed text can be spelled in
-- many ways, each a submission of its own.
DROP TABLE lineage_claims;
CREATE TABLE lineage_claims (
    environment             text NOT NULL,
    original_transaction_id text NOT NULL,
    account                 text NOT NULL,
    transaction_id          text NOT NULL,
    signed_date             timestamptz NOT NULL,
    submission_id           text NOT NULL,       -- that was heard first
    refused                 text,                -- why it got nothing; it may be heard again then
    created_at              timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (environment, original_transaction_id, account, transaction_id, signed_date)
);

-- A receipt does not say that it is a family member's copy: what it brought is taken back once Apple says so.
ALTER TABLE entitlements DROP CONSTRAINT entitlements_cause_is_known,
    ADD CONSTRAINT entitlements_cause_is_known
        CHECK (revoked_because IN ('refund', 'family_revoke', 'family_copy', 'consent_rescinded', 'upgraded'));

-- What was granted twice before this migration, or for a family member's copy, is corrected by lines of their own kind.
ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_kind_is_known,
    ADD CONSTRAINT ledger_entries_kind_is_known
        CHECK (kind IN ('grant', 'revocation', 'reversal', 'spend', 'adjustment', 'correction'));

-- Orders that turned out to be the same purchase as another, which took them in.
CREATE TABLE merged_orders (
    environment          text NOT NULL,
    transaction_id       text NOT NULL,          -- the order that is no more
    order_transaction_id text NOT NULL,          -- the one that it is part of
    row                  jsonb NOT NULL,         -- as it was
    merged_at            timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (environment, transaction_id)
);

-- What an account got of one purchase beyond what it brings, and what became of it.
CREATE TABLE double_grants (
    environment          text NOT NULL,
    order_transaction_id text NOT NULL,
    app                  text NOT NULL,
    account              text NOT NULL,
    item                 text NOT NULL,
    amount               bigint NOT NULL,        -- granted too much
    state                text NOT NULL DEFAULT 'open',
    corrected            bigint,                 -- taken back by the ledger; less where the account had spent it
    decided_at           timestamptz,
    PRIMARY KEY (environment, order_transaction_id, account, item),
    CONSTRAINT double_grants_amount_is_positive CHECK (amount > 0),
    CONSTRAINT double_grants_state_is_known CHECK (state IN ('open', 'corrected', 'left')),
    CONSTRAINT double_grants_corrected_have_amount CHECK ((state = 'corrected') = (corrected IS NOT NULL))
);

-- The keys of what is there.
UPDATE orders SET web_order_line_item_id = transaction->>'web_order_line_item_id'
WHERE transaction->>'web_order_line_item_id' NOT IN ('', '0');
UPDATE orders SET
    purchase_key = CASE
        WHEN product_type = 'auto_renewable' OR product_type = 'unstated' AND expires_date IS NOT NULL THEN
            CASE WHEN web_order_line_item_id IS NOT NULL
                THEN 'p:' || original_transaction_id || ':' || web_order_line_item_id END
        ELSE 'o:' || original_transaction_id END,
    fallback_key = CASE
        WHEN product_type = 'auto_renewable' OR product_type = 'unstated' AND expires_date IS NOT NULL THEN
            'd:' || original_transaction_id || ':' || product_id || ':'
                || floor(extract(epoch FROM purchase_date))::bigint END
WHERE product_type <> 'consumable';
