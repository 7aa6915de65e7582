-- Whose a lineage is, subscriptions, what was taken back, and a ledger whose every line has two sides.

-- What a studio's players may spend against, and what taking back needs to know of an order.
ALTER TABLE orders
    DROP CONSTRAINT orders_granted_have_time,
    ADD CONSTRAINT orders_granted_have_time CHECK (state <> 'granted' OR granted_at IS NOT NULL),
    ADD CONSTRAINT orders_parked_were_not_granted CHECK (state <> 'parked' OR granted_at IS NULL),
    ADD COLUMN revoked_at            timestamptz, -- when Countersign heard; revocation_date is when Apple did it
    ADD COLUMN revocation_type       text,        -- REFUND_FULL, REFUND_PRORATED, FAMILY_REVOKE, as Apple wrote it
    ADD COLUMN revocation_percentage bigint,      -- thousandths of a per cent
    ADD COLUMN ownership             text,        -- PURCHASED or FAMILY_SHARED
    ADD COLUMN original_purchase_date timestamptz,
    ADD COLUMN app_transaction_id    text;
-- A mended catalogue ends two more doubts: another type than Apple's, and an amount that was too large.
DROP INDEX orders_in_doubt;
CREATE INDEX orders_in_doubt ON orders (app, product_id)
    WHERE state = 'parked'
        AND reason IN ('product_unknown', 'account_token_unknown', 'product_type_mismatch', 'amount_too_large');
CREATE INDEX orders_app_account_token ON orders (app_account_token) WHERE app_account_token IS NOT NULL;
CREATE INDEX orders_app_transaction ON orders (environment, app, app_transaction_id)
    WHERE app_transaction_id IS NOT NULL;

-- "This account is about to buy this product." The id is the appAccountToken that the app sets; it stands in
-- account_tokens, too.
CREATE TABLE purchase_intents (
    id         uuid PRIMARY KEY,
    app        text NOT NULL,
    account    text NOT NULL,
    product_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX purchase_intents_account ON purchase_intents (account, app, created_at);

-- Whose a lineage is: everything that has one original transaction id and is not used up. Consumables have none; their
-- order says whose they are. This row is locked before any order of the lineage.
CREATE TABLE lineages (
    environment             text NOT NULL,
    original_transaction_id text NOT NULL,
    app                     text NOT NULL,
    account                 text,              -- null while nobody's
    cause                   text,              -- how it came to that account
    token                   uuid,              -- the appAccountToken by which it was bound last
    token_purchase_date     timestamptz,       -- of the transaction with that token; a later purchase counts more
    token_signed_date       timestamptz,
    bound_at                timestamptz,
    PRIMARY KEY (environment, original_transaction_id),
    CONSTRAINT lineages_cause_is_known CHECK (cause IN ('token', 'possession', 'transfer', 'operator')),
    CONSTRAINT lineages_bound_have_cause CHECK ((account IS NULL) = (cause IS NULL))
);

-- Further accounts that may use a lineage, by the restore policy `share`.
CREATE TABLE lineage_shares (
    environment             text NOT NULL,
    original_transaction_id text NOT NULL,
    app                     text NOT NULL,
    account                 text NOT NULL,
    created_at              timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (environment, original_transaction_id, account)
);
CREATE INDEX lineage_shares_account ON lineage_shares (account, app, environment);

-- Every binding that ever was; append-only.
CREATE TABLE binding_history (
    id                      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment             text NOT NULL,
    original_transaction_id text NOT NULL,
    app                     text NOT NULL,
    from_account            text,              -- null for the first
    to_account              text NOT NULL,
    cause                   text NOT NULL,
    policy                  text,              -- the restore policy, where one decided
    submission_id           text,
    audit_id                bigint REFERENCES audit_log (id),
    created_at              timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT binding_history_cause_is_known
        CHECK (cause IN ('token', 'possession', 'transfer', 'share', 'operator'))
);
CREATE UNIQUE INDEX binding_history_once_per_submission
    ON binding_history (environment, original_transaction_id, submission_id) WHERE cause IN ('transfer', 'share');
CREATE INDEX binding_history_lineage ON binding_history (environment, original_transaction_id);
CREATE TRIGGER binding_history_append_only BEFORE UPDATE OR DELETE ON binding_history
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Which submissions claimed a lineage for their account: each is heard once, however often its verdict comes.
CREATE TABLE lineage_claims (
    environment             text NOT NULL,
    original_transaction_id text NOT NULL,
    submission_id           text NOT NULL,
    account                 text NOT NULL,
    refused                 text,              -- why it got nothing; it may be heard again then
    created_at              timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (environment, original_transaction_id, submission_id)
);

-- An operator's word whose a parked order is; fulfillment takes it up, and clears due_at.
CREATE TABLE operator_claims (
    audit_id       bigint PRIMARY KEY REFERENCES audit_log (id),
    environment    text NOT NULL,
    transaction_id text NOT NULL,
    account        text NOT NULL,
    due_at         timestamptz DEFAULT now(),
    created_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX operator_claims_due ON operator_claims (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX operator_claims_order ON operator_claims (environment, transaction_id);

-- The newest that Apple signed about a subscription's next renewal, whether or not the subscription is known yet.
-- Empty where nothing was signed: the row is what is locked while the subscription is worked out anew.
CREATE TABLE renewal_statements (
    environment             text NOT NULL,
    original_transaction_id text NOT NULL,
    signed_date             timestamptz,
    statement               jsonb,
    PRIMARY KEY (environment, original_transaction_id),
    CONSTRAINT renewal_statements_are_signed CHECK ((signed_date IS NULL) = (statement IS NULL))
);

-- The period of a subscription that was bought last is looked for again and again.
DROP INDEX orders_lineage;
CREATE INDEX orders_lineage ON orders (environment, original_transaction_id, purchase_date);

-- Where a subscription stands: worked out of its orders and its newest renewal statement, and of the clock.
CREATE TABLE subscriptions (
    environment             text NOT NULL,
    original_transaction_id text NOT NULL,
    app                     text NOT NULL,
    account                 text,
    state                   text NOT NULL,
    product_id              text NOT NULL,
    transaction_id          text NOT NULL,     -- the order of the current period
    expires_date            timestamptz NOT NULL, -- by Apple
    access_until            timestamptz NOT NULL, -- the same, or the end of grace
    due_at                  timestamptz,       -- when the clock alone changes the state
    changed_at              timestamptz NOT NULL DEFAULT now(),
    standing                jsonb NOT NULL,    -- everything else, as events and answers tell it
    PRIMARY KEY (environment, original_transaction_id),
    CONSTRAINT subscriptions_state_is_known
        CHECK (state IN ('active', 'expired', 'billing_retry', 'grace_period', 'revoked'))
);
CREATE INDEX subscriptions_account ON subscriptions (account, app, environment) WHERE account IS NOT NULL;
CREATE INDEX subscriptions_due ON subscriptions (due_at) WHERE due_at IS NOT NULL;

-- A guardian withdrew consent to a child's use of the app (RESCIND_CONSENT).
CREATE TABLE rescinded_consents (
    environment        text NOT NULL,
    app                text NOT NULL,
    app_transaction_id text NOT NULL,
    signed_date        timestamptz NOT NULL,   -- the newest
    PRIMARY KEY (environment, app, app_transaction_id)
);

-- An entitlement that was taken back stays, and is none.
ALTER TABLE entitlements
    ADD COLUMN revoked_at      timestamptz,
    ADD COLUMN revoked_because text,
    ADD COLUMN end_told_at     timestamptz,    -- when its end by the clock was told
    ADD CONSTRAINT entitlements_revoked_have_cause CHECK ((revoked_at IS NULL) = (revoked_because IS NULL)),
    ADD CONSTRAINT entitlements_cause_is_known
        CHECK (revoked_because IN ('refund', 'family_revoke', 'consent_rescinded', 'upgraded'));
CREATE INDEX entitlements_order ON entitlements (environment, transaction_id);
CREATE INDEX entitlements_ending ON entitlements (expires_at)
    WHERE expires_at IS NOT NULL AND end_told_at IS NULL AND revoked_at IS NULL;

-- What players spend out of a wallet that Countersign holds; one row a request.
CREATE TABLE spends (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment     text NOT NULL,
    app             text NOT NULL,
    account         text NOT NULL,
    idempotency_key text NOT NULL,
    request_sha256  text NOT NULL,             -- the same key with another request is refused
    reference       text,                      -- the studio's own word for what was bought
    answer          jsonb NOT NULL,            -- told again to whoever repeats the request
    created_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT spends_once_per_key UNIQUE (account, app, environment, idempotency_key)
);
CREATE TRIGGER spends_append_only BEFORE UPDATE OR DELETE ON spends
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Every line moves an amount between a book of the studio's (issued, spent) and what the account holds: two sides in one
-- row, so that they cannot differ. A positive amount goes to the account.
ALTER TABLE ledger_entries
    ALTER COLUMN transaction_id DROP NOT NULL,
    ADD COLUMN book     text NOT NULL DEFAULT 'issued',
    ADD COLUMN spend_id bigint REFERENCES spends (id),
    ADD COLUMN audit_id bigint REFERENCES audit_log (id),
    DROP CONSTRAINT ledger_entries_kind_is_known,
    ADD CONSTRAINT ledger_entries_kind_is_known
        CHECK (kind IN ('grant', 'revocation', 'reversal', 'spend', 'adjustment')),
    ADD CONSTRAINT ledger_entries_book_is_known CHECK (book = CASE kind WHEN 'spend' THEN 'spent' ELSE 'issued' END),
    ADD CONSTRAINT ledger_entries_have_one_cause CHECK (
        CASE kind WHEN 'spend' THEN spend_id WHEN 'adjustment' THEN audit_id ELSE 0 END IS NOT NULL
        AND num_nonnulls(transaction_id, spend_id, audit_id) = 1),
    ADD CONSTRAINT ledger_entries_sign_fits CHECK (
        CASE kind WHEN 'grant' THEN amount > 0 WHEN 'reversal' THEN amount > 0 WHEN 'adjustment' THEN true
            ELSE amount < 0 END);
CREATE UNIQUE INDEX ledger_entries_once_per_spend ON ledger_entries (spend_id, sequence) WHERE spend_id IS NOT NULL;
CREATE UNIQUE INDEX ledger_entries_once_per_audit ON ledger_entries (audit_id, sequence) WHERE audit_id IS NOT NULL;

-- Adjustments by hand have no transaction.
ALTER TABLE events ALTER COLUMN transaction_id DROP NOT NULL;

-- What an older version granted has lineages and subscriptions, too. A lineage is the account's that Apple's newest token
-- names, else the account's that bought last. The older version asked nobody whose a lineage was: an account that can
-- still use something of another's lineage shares it from now on, so that nobody loses anything.
INSERT INTO lineages (environment, original_transaction_id, app, account, cause, token, token_purchase_date,
    token_signed_date, bound_at)
SELECT DISTINCT ON (o.environment, o.original_transaction_id)
    o.environment, o.original_transaction_id, o.app, o.account,
    CASE WHEN t.token IS NULL THEN 'possession' ELSE 'token' END, t.token,
    CASE WHEN t.token IS NOT NULL THEN o.purchase_date END, CASE WHEN t.token IS NOT NULL THEN o.signed_date END,
    o.created_at
FROM orders o
LEFT JOIN account_tokens t ON (t.app, t.token, t.account) = (o.app, o.app_account_token, o.account)
-- What states no type may be a consumable, unless it is a period.
WHERE o.state <> 'parked' AND o.account IS NOT NULL AND o.product_type <> 'consumable'
    AND (o.product_type <> 'unstated' OR o.expires_date IS NOT NULL)
ORDER BY o.environment, o.original_transaction_id, t.token IS NULL, o.state <> 'granted', o.purchase_date DESC,
    o.signed_date DESC, o.transaction_id DESC;

INSERT INTO lineage_shares (environment, original_transaction_id, app, account)
SELECT DISTINCT o.environment, o.original_transaction_id, o.app, o.account
FROM lineages l
JOIN orders o USING (environment, original_transaction_id, app)
JOIN entitlements e ON (e.environment, e.transaction_id, e.account) = (o.environment, o.transaction_id, o.account)
WHERE o.account <> l.account AND o.product_type <> 'consumable' AND (e.expires_at IS NULL OR e.expires_at > now());

-- Who had something of it, and has nothing now, had it before its owner.
INSERT INTO binding_history (environment, original_transaction_id, app, from_account, to_account, cause)
SELECT environment, original_transaction_id, app, lag(account) OVER held, account, cause
FROM (
    SELECT o.environment, o.original_transaction_id, o.app, o.account, o.account = l.account AS is_owner,
        CASE WHEN o.account = l.account THEN l.cause ELSE 'possession' END AS cause,
        max(o.purchase_date) AS purchase_date
    FROM lineages l JOIN orders o USING (environment, original_transaction_id, app)
    WHERE o.state <> 'parked' AND o.account IS NOT NULL AND o.product_type <> 'consumable'
        AND NOT EXISTS (SELECT FROM lineage_shares s
            WHERE (s.environment, s.original_transaction_id, s.account)
                = (o.environment, o.original_transaction_id, o.account))
    GROUP BY o.environment, o.original_transaction_id, o.app, o.account, l.account, l.cause) AS owners
WINDOW held AS (PARTITION BY environment, original_transaction_id ORDER BY is_owner, purchase_date, account)
ORDER BY environment, original_transaction_id, is_owner, purchase_date, account;
INSERT INTO binding_history (environment, original_transaction_id, app, from_account, to_account, cause)
SELECT s.environment, s.original_transaction_id, s.app, l.account, s.account, 'share'
FROM lineage_shares s JOIN lineages l USING (environment, original_transaction_id)
ORDER BY s.environment, s.original_transaction_id, s.account;

-- All of a lineage goes to its owner; who shares it keeps what it can use.
INSERT INTO entitlements (environment, app, account, entitlement, transaction_id, granted_at, expires_at)
SELECT e.environment, e.app, l.account, e.entitlement, e.transaction_id, e.granted_at, e.expires_at
FROM lineages l
JOIN orders o USING (environment, original_transaction_id, app)
JOIN entitlements e ON (e.environment, e.transaction_id, e.account) = (o.environment, o.transaction_id, o.account)
WHERE o.account <> l.account AND o.product_type <> 'consumable';
DELETE FROM entitlements e USING lineages l JOIN orders o USING (environment, original_transaction_id, app)
WHERE (e.environment, e.transaction_id, e.account) = (o.environment, o.transaction_id, o.account)
    AND o.account <> l.account AND o.product_type <> 'consumable'
    AND NOT EXISTS (SELECT FROM lineage_shares s
        WHERE (s.environment, s.original_transaction_id, s.account)
            = (o.environment, o.original_transaction_id, o.account));
UPDATE orders o SET account = l.account FROM lineages l
WHERE (l.environment, l.original_transaction_id, l.app) = (o.environment, o.original_transaction_id, o.app)
    AND o.account <> l.account AND o.state <> 'parked' AND o.product_type <> 'consumable';

-- All run, or were taken back; those whose end has come are due, and their end is told.
INSERT INTO subscriptions (environment, original_transaction_id, app, account, state, product_id, transaction_id,
    expires_date, access_until, due_at, standing)
SELECT environment, original_transaction_id, app, account, CASE state WHEN 'revoked' THEN 'revoked' ELSE 'active' END,
    product_id, transaction_id, expires_date, expires_date, CASE WHEN state <> 'revoked' THEN expires_date END,
    jsonb_strip_nulls(jsonb_build_object(
        'original_transaction_id', original_transaction_id, 'transaction_id', transaction_id, 'product_id', product_id,
        'state', CASE state WHEN 'revoked' THEN 'revoked' ELSE 'active' END,
        'purchase_date', transaction -> 'purchase_date', 'expires_date', transaction -> 'expires_date',
        'ownership', transaction -> 'ownership'))
FROM (
    SELECT DISTINCT ON (environment, original_transaction_id) * FROM orders
    WHERE state <> 'parked' AND account IS NOT NULL AND expires_date IS NOT NULL
        AND product_type IN ('auto_renewable', 'unstated')
    ORDER BY environment, original_transaction_id, purchase_date DESC, expires_date DESC,
        transaction_id COLLATE "C" DESC) AS current;
