-- What somebody asked to be sent again; the notification service takes it up, and is the only one that changes deliveries.
CREATE TABLE webhook_resends (
    endpoint_id text NOT NULL,
    event_id    text NOT NULL,
    state       text NOT NULL,          -- the delivery's when it was asked for; one that has another by now is left alone
    asked_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (endpoint_id, event_id)
);

ALTER TABLE webhook_endpoints
    ADD COLUMN succeeded_at timestamptz,                    -- a success of late: each is not noted
    ADD COLUMN is_holding boolean NOT NULL DEFAULT false,   -- was switched off; its deliveries are not brought back yet
    ADD COLUMN resumed_at timestamptz;                      -- since when they are being brought back
UPDATE webhook_endpoints SET is_holding = true WHERE disabled_at IS NOT NULL;

-- When an event came into the outbox: due_at is put off again and again. Rows that are there begin to count now.
-- Not created_at: programs of the version before join the table with events, and ask for that by its bare name.
ALTER TABLE event_outbox
    ADD COLUMN queued_at timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN alarmed_at timestamptz;
CREATE INDEX event_outbox_waiting ON event_outbox (queued_at) WHERE alarmed_at IS NULL;
CREATE INDEX event_outbox_alarmed ON event_outbox (queued_at) WHERE alarmed_at IS NOT NULL;

-- Last, since it locks the largest table for as long as the transaction still takes.
ALTER TABLE webhook_deliveries
    ADD COLUMN attempts_forgiven integer NOT NULL DEFAULT 0,    -- attempts that the schedule does not count any more
    ADD COLUMN failed_at timestamptz;                           -- when the attempt before failed; null as a schedule begins
