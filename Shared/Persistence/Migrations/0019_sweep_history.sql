-- Apple is asked for what nobody told us of: what to ask and when, what was found, and what is paid and not delivered.

-- One row is one question that is asked again and again: of an app, or of one of Apple's customers. Any number of workers
-- share the rows by leases; where a round of pages has come to stands in the row, so that another worker goes on with it.
CREATE TABLE sweep_tasks (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind          text NOT NULL,
    app           text NOT NULL,        -- '' for plan and walk
    environment   text NOT NULL,        -- '' for plan and walk
    customer      text NOT NULL DEFAULT '', -- a:<appTransactionId>, t:<original id>, o:<id of one consumable>; '' for an app
    subject       text NOT NULL DEFAULT '', -- a transaction id of the customer, by which Apple is asked
    cause         text NOT NULL DEFAULT 'schedule',
    priority      smallint NOT NULL,    -- 0 goes first
    due_at        timestamptz,          -- a lease, or when it is asked next; null when it is not to be asked again
    claimed_at    timestamptz,          -- since when a worker is at it; null when none is
    lease_number  integer NOT NULL DEFAULT 0, -- of the last claim: who has an older one writes nothing
    asked_at      timestamptz,          -- when somebody or something wanted it to be asked soon
    covered_until timestamptz,          -- of an app: what Apple sent until then was compared; of plan: was planned for
    window_start  timestamptz,          -- of the round under way
    window_end    timestamptz,
    page          text,                 -- where the round under way goes on
    revision      text,                 -- of a customer: Apple's mark of what was read; later changes come after it
    run_id        bigint,               -- the reconciliation that waits for it
    calls         bigint NOT NULL DEFAULT 0,
    found         bigint NOT NULL DEFAULT 0,
    failures      integer NOT NULL DEFAULT 0, -- in a row
    last_error    text,
    finished_at   timestamptz,          -- the end of the last whole round
    created_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT sweep_tasks_kind_is_known
        CHECK (kind IN ('notifications', 'failures', 'history', 'refunds', 'statuses', 'walk', 'plan')),
    CONSTRAINT sweep_tasks_environment_is_known
        CHECK (environment IN ('production', 'sandbox') OR environment = '' AND kind IN ('walk', 'plan')),
    CONSTRAINT sweep_tasks_once UNIQUE (app, environment, kind, customer)
);
CREATE INDEX sweep_tasks_due ON sweep_tasks (priority, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX sweep_tasks_run ON sweep_tasks (run_id) WHERE run_id IS NOT NULL;

-- After a restore of the database: everything is asked anew, and this row waits for it.
CREATE TABLE sweep_runs (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    since        timestamptz NOT NULL,
    app          text,                  -- null for all apps
    is_full      boolean NOT NULL,      -- histories are read from their beginning
    requested_at timestamptz NOT NULL DEFAULT now(),
    finished_at  timestamptz
);

-- What was signed by Apple and not in the books. Its submission goes the ordinary way; by this row it is known as recovered.
CREATE TABLE recoveries (
    app            text NOT NULL,
    environment    text NOT NULL,
    finding        text NOT NULL,       -- what is said of what, and what the books said: found again, it is the same row
    submission_id  text NOT NULL,
    source         text NOT NULL,       -- the kind of the task that found it
    cause          text NOT NULL,       -- and its cause
    transaction_id text,                -- null where a notification is about none
    found_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, environment, finding),
    CONSTRAINT recoveries_environment_is_known CHECK (environment IN ('production', 'sandbox'))
);
CREATE INDEX recoveries_submission ON recoveries (submission_id);
CREATE INDEX recoveries_found ON recoveries (found_at);

-- Paid, or perhaps paid, and not delivered: what an operator wants to be empty. `countersign lost` prints it.
CREATE VIEW undelivered_purchases AS
SELECT 'parked' AS stage, o.environment, o.app, o.reason, o.created_at AS since, o.account, o.product_id,
    o.transaction_id, o.submission_id, o.purchase_date
FROM orders o WHERE o.state = 'parked'
UNION ALL
SELECT 'undecided', NULL, s.app, coalesce(s.reason, 'no_verdict'), coalesce(s.reopened_at, s.received_at),
    nullif(s.account, ''), NULL, s.named_transaction_id, s.id, NULL
FROM submissions s WHERE s.due_at IS NOT NULL
UNION ALL
-- The account has it, and the studio's backend was never told: where it keeps the goods, they are not delivered.
SELECT 'untold', e.environment, e.app, 'webhook_abandoned', e.created_at, e.account, NULL, e.transaction_id, NULL, NULL
FROM webhook_deliveries d JOIN events e ON e.id = d.event_id
WHERE d.state = 'abandoned' AND e.type = 'iap.transaction.fulfilled';
