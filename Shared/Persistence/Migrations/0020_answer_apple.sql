-- What Apple is told: answers to its refund requests, that purchases are delivered, whose they are. And what Apple has told.

-- Whether an account's player agreed that Apple is told how much of a purchase was used. Without a row, and without `consented`, Apple
-- is told nothing.
CREATE TABLE account_consents (
    app        text NOT NULL,
    account    text NOT NULL,
    consented  boolean NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),   -- since when it is so
    PRIMARY KEY (account, app)
);

-- Server notifications that Apple signed, each once; the signed text is the submission's.
CREATE TABLE apple_notifications (
    app               text NOT NULL,
    notification_uuid text NOT NULL,
    environment       text NOT NULL,
    type              text NOT NULL,                  -- Apple's word, known here or not
    subtype           text,
    signed_date       timestamptz,
    submission_id     text NOT NULL,
    recorded_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, notification_uuid)
);
CREATE INDEX apple_notifications_type ON apple_notifications (type, app, recorded_at);
-- For retention.
CREATE INDEX apple_notifications_recorded ON apple_notifications (recorded_at);

-- Notifications that go on to a studio's older consumer, as Apple signed them.
CREATE TABLE notification_forwards (
    app               text NOT NULL,
    notification_uuid text NOT NULL,
    state             text NOT NULL DEFAULT 'pending',
    due_at            timestamptz DEFAULT now(),      -- a lease, then a back-off; null once nothing is due
    attempts          integer NOT NULL DEFAULT 0,
    last_status       integer,
    last_error        text,
    created_at        timestamptz NOT NULL DEFAULT now(),
    finished_at       timestamptz,
    PRIMARY KEY (app, notification_uuid),
    CONSTRAINT notification_forwards_state_is_known CHECK (state IN ('pending', 'delivered', 'given_up')),
    CONSTRAINT notification_forwards_pending_are_due CHECK ((state = 'pending') = (due_at IS NOT NULL))
);
CREATE INDEX notification_forwards_due ON notification_forwards (due_at) WHERE due_at IS NOT NULL;

-- Calls to Apple's servers that are to be made, or were; the verification workers make them.
CREATE TABLE apple_calls (
    id                   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind                 text NOT NULL,
    environment          text NOT NULL,
    app                  text NOT NULL,
    transaction_id       text NOT NULL,               -- the one that the call names; of account_token the original one
    order_transaction_id text NOT NULL,               -- the order's own id
    state                text NOT NULL,
    due_at               timestamptz,                 -- when the next step is due, or a lease ends; null once nothing is
    attempts             integer NOT NULL DEFAULT 0,  -- calls that were made
    created_at           timestamptz NOT NULL DEFAULT now(),
    finished_at          timestamptz,
    status               integer,                     -- of Apple's last answer, HTTP
    code                 bigint,                      -- Apple's number in it
    outcome              text,                        -- why, in a word, where it was not done
    -- consumption
    requested_at         timestamptz,                 -- when Apple signed the request
    deadline_at          timestamptz,                 -- until when Apple takes an answer
    request_reason       text,                        -- Apple's consumptionRequestReason
    answer               jsonb,                       -- what is to be said
    body                 text,                        -- what was sent, byte for byte
    api_version          integer,                     -- of Send Consumption Information
    -- account_token
    account_token        uuid,
    CONSTRAINT apple_calls_kind_is_known CHECK (kind IN ('consumption', 'finish', 'account_token')),
    CONSTRAINT apple_calls_state_is_known
        CHECK (state IN ('asked', 'ready', 'done', 'refused', 'lapsed', 'withdrawn')),
    CONSTRAINT apple_calls_open_are_due CHECK ((state IN ('asked', 'ready')) = (due_at IS NOT NULL)),
    CONSTRAINT apple_calls_open_are_unfinished CHECK ((state IN ('asked', 'ready')) = (finished_at IS NULL)),
    CONSTRAINT apple_calls_requests_have_dates
        CHECK ((kind = 'consumption') = (requested_at IS NOT NULL AND deadline_at IS NOT NULL))
);
-- A refund request may come again for the same transaction; the other calls are made once.
CREATE UNIQUE INDEX apple_calls_once ON apple_calls (environment, transaction_id, kind) WHERE kind <> 'consumption';
CREATE UNIQUE INDEX apple_calls_request ON apple_calls (environment, transaction_id, requested_at) WHERE kind = 'consumption';
CREATE INDEX apple_calls_order ON apple_calls (environment, order_transaction_id);
CREATE INDEX apple_calls_due ON apple_calls (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX apple_calls_ready ON apple_calls (kind, due_at) WHERE state = 'ready';
