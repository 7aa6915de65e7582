-- Events that the notification service does not have yet. It was a column of `events`: taking an event over wrote its whole row
-- again, body and index entries, for a time that is NULL from then on.
CREATE TABLE event_outbox (
    event_id text PRIMARY KEY,          -- of a row of events, which is never removed
    due_at   timestamptz NOT NULL,      -- when it is sent again
    attempts integer NOT NULL DEFAULT 0
);
CREATE INDEX event_outbox_due ON event_outbox (due_at);

-- A fulfillment of the version before still writes events.due_at; this version moves such rows here when they are due.
INSERT INTO event_outbox (event_id, due_at, attempts) SELECT id, due_at, attempts FROM events WHERE due_at IS NOT NULL;
UPDATE events SET due_at = NULL WHERE due_at IS NOT NULL;
