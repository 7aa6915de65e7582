-- Countersign's first schema. Money is an integer of milliunits with a currency; Apple's ids are text; times are
-- timestamptz; every state is a text with a named CHECK. The environment is part of every key.

-- Something received that must get an outcome. The id is a hash of app, account and proof: posting again is this row.
CREATE TABLE submissions (
    id             text PRIMARY KEY,
    state          text NOT NULL DEFAULT 'received',
    due_at         timestamptz,          -- a lease: sent again when it passes; null once settled
    attempts       integer NOT NULL DEFAULT 0,
    app            text NOT NULL,
    account        text NOT NULL,
    kind           text NOT NULL,
    partition_key  text NOT NULL,        -- original transaction id peeked from the proof, else the account
    correlation_id text NOT NULL,
    received_at    timestamptz NOT NULL DEFAULT now(),
    settled_at     timestamptz,
    reason         text,
    outcome        jsonb,                -- what the app is told
    proof          text NOT NULL,
    CONSTRAINT submissions_state_is_known CHECK (state IN ('received', 'fulfilled', 'rejected', 'parked')),
    CONSTRAINT submissions_unsettled_are_due CHECK ((state = 'received') = (due_at IS NOT NULL)),
    CONSTRAINT submissions_settled_have_outcome CHECK ((state = 'received') = (outcome IS NULL))
);
CREATE INDEX submissions_due ON submissions (due_at) WHERE due_at IS NOT NULL;

-- Which account an appAccountToken means.
CREATE TABLE account_tokens (
    app        text NOT NULL,
    token      uuid NOT NULL,
    account    text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, token)
);

-- One Apple transaction. Its primary key is the promise that nothing is granted twice.
CREATE TABLE orders (
    environment             text NOT NULL,
    transaction_id          text NOT NULL,
    state                   text NOT NULL,
    reason                  text,                -- why it is parked or revoked
    account                 text,                -- null while in doubt
    app                     text NOT NULL,
    product_id              text NOT NULL,
    product_type            text NOT NULL,
    quantity                integer NOT NULL,
    original_transaction_id text NOT NULL,
    purchase_date           timestamptz NOT NULL,
    expires_date            timestamptz,
    revocation_date         timestamptz,
    signed_date             timestamptz NOT NULL,
    app_account_token       uuid,
    price_milliunits        bigint,
    currency                text,
    storefront              text,
    submission_id           text NOT NULL,       -- the submission that brought it first
    correlation_id          text NOT NULL,
    created_at              timestamptz NOT NULL DEFAULT now(),
    granted_at              timestamptz,
    transaction             jsonb NOT NULL,      -- the whole normalised transaction with its evidence
    PRIMARY KEY (environment, transaction_id),
    CONSTRAINT orders_environment_is_known CHECK (environment IN ('production', 'sandbox')),
    CONSTRAINT orders_state_is_known CHECK (state IN ('granted', 'parked', 'revoked')),
    CONSTRAINT orders_quantity_is_positive CHECK (quantity >= 1),
    CONSTRAINT orders_granted_have_account CHECK (state <> 'granted' OR account IS NOT NULL),
    CONSTRAINT orders_granted_have_time CHECK ((state = 'granted') = (granted_at IS NOT NULL)),
    CONSTRAINT orders_ungranted_have_reason CHECK ((state = 'granted') = (reason IS NULL))
);
CREATE INDEX orders_account ON orders (account, app, environment) WHERE account IS NOT NULL;
CREATE INDEX orders_lineage ON orders (environment, original_transaction_id);
CREATE INDEX orders_parked ON orders (app, product_id) WHERE state = 'parked';

-- Which submissions named which transactions, so that a parked one hears of its order's later grant.
CREATE TABLE submission_transactions (
    environment    text NOT NULL,
    transaction_id text NOT NULL,
    submission_id  text NOT NULL REFERENCES submissions (id) ON DELETE CASCADE,
    PRIMARY KEY (environment, transaction_id, submission_id)
);

-- A grant, a revocation, a compensation; append-only.
CREATE TABLE ledger_entries (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment    text NOT NULL,
    transaction_id text NOT NULL,
    kind           text NOT NULL,
    sequence       integer NOT NULL,     -- 1, 2, … for the items of one grant
    app            text NOT NULL,
    account        text NOT NULL,
    item           text NOT NULL,
    amount         bigint NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT ledger_entries_kind_is_known CHECK (kind IN ('grant', 'revocation', 'compensation')),
    CONSTRAINT ledger_entries_amount_is_not_zero CHECK (amount <> 0),
    CONSTRAINT ledger_entries_once_per_order UNIQUE (environment, transaction_id, kind, sequence),
    CONSTRAINT ledger_entries_have_an_order FOREIGN KEY (environment, transaction_id)
        REFERENCES orders (environment, transaction_id)
);
CREATE INDEX ledger_entries_account ON ledger_entries (account, app, environment, item);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'table % is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE ON ledger_entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- An account's total of one item, kept in the transaction that writes the ledger.
CREATE TABLE balances (
    environment text NOT NULL,
    app         text NOT NULL,
    account     text NOT NULL,
    item        text NOT NULL,
    amount      bigint NOT NULL,
    PRIMARY KEY (account, app, environment, item)
);

-- What an account may use, until when, and because of which order.
CREATE TABLE entitlements (
    environment    text NOT NULL,
    app            text NOT NULL,
    account        text NOT NULL,
    entitlement    text NOT NULL,
    transaction_id text NOT NULL,
    granted_at     timestamptz NOT NULL DEFAULT now(),
    expires_at     timestamptz,
    PRIMARY KEY (account, app, environment, entitlement, transaction_id)
);

-- The number of each account's newest event.
CREATE TABLE account_sequences (
    environment   text NOT NULL,
    app           text NOT NULL,
    account       text NOT NULL,
    last_sequence bigint NOT NULL,
    PRIMARY KEY (account, app, environment)
);

-- What happened; append-only but for the lease. Due until the notification service has taken it over.
CREATE TABLE events (
    id             text PRIMARY KEY,
    due_at         timestamptz,
    attempts       integer NOT NULL DEFAULT 0,
    type           text NOT NULL,
    environment    text NOT NULL,
    app            text NOT NULL,
    account        text,
    sequence       bigint,
    transaction_id text NOT NULL,
    partition_key  text NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    body           text NOT NULL,        -- the exact bytes that are sent and signed
    CONSTRAINT events_sequence_goes_with_account CHECK ((account IS NULL) = (sequence IS NULL)),
    CONSTRAINT events_sequence_is_unique UNIQUE (account, app, environment, sequence)
);
CREATE INDEX events_due ON events (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX events_transaction ON events (environment, transaction_id);

-- Where to tell; the address and the secrets are configuration, what the endpoint's answers led to is here.
CREATE TABLE webhook_endpoints (
    id              text PRIMARY KEY,
    disabled_at     timestamptz,
    disabled_reason text,
    failing_since   timestamptz
);

-- Each telling and its attempts.
CREATE TABLE webhook_deliveries (
    event_id     text NOT NULL REFERENCES events (id),
    endpoint_id  text NOT NULL,
    state        text NOT NULL DEFAULT 'pending',
    due_at       timestamptz,
    attempts     integer NOT NULL DEFAULT 0,
    last_status  integer,
    last_error   text,
    created_at   timestamptz NOT NULL DEFAULT now(),
    delivered_at timestamptz,
    PRIMARY KEY (event_id, endpoint_id),
    CONSTRAINT webhook_deliveries_state_is_known CHECK (state IN ('pending', 'delivered', 'abandoned')),
    CONSTRAINT webhook_deliveries_pending_are_due CHECK ((state = 'pending') = (due_at IS NOT NULL))
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, due_at) WHERE due_at IS NOT NULL;

-- Who did what by hand, and why.
CREATE TABLE audit_log (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    actor      text NOT NULL,
    action     text NOT NULL,
    subject    text NOT NULL,
    reason     text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
