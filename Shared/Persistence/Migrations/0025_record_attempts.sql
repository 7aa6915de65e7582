-- Every attempt to deliver a webhook is written down, and an account's events go to an endpoint in their order where it asks for it.

-- An attempt: when it began, what the endpoint said, or why it said nothing. Divided by month: nobody deletes it row by row.
CREATE TABLE webhook_attempts (
    event_id     text NOT NULL,
    endpoint_id  text NOT NULL,
    attempt      integer NOT NULL,       -- from 1, as webhook_deliveries counts them
    attempted_at timestamptz NOT NULL,   -- when it began, by the clock of the process that made it
    duration_ms  integer NOT NULL,
    status       integer,                -- of HTTP; NULL where there was no answer
    error        text,                   -- why there was none
    answer       text,                   -- the beginning of the answer, at most 2 kB, without control characters
    PRIMARY KEY (event_id, endpoint_id, attempt, attempted_at)
) PARTITION BY RANGE (attempted_at);
CREATE TABLE webhook_attempts_other PARTITION OF webhook_attempts DEFAULT;

-- Whose turn it is: the pending deliveries of endpoints that take an account's events in their order. The first of a lane is sent,
-- the others wait with a due_at that never comes (DeliveryStore.behind), and whoever records the first lets the next one go.
CREATE TABLE webhook_turns (
    endpoint_id text NOT NULL,
    lane        bytea NOT NULL,          -- which account, app and environment: the beginning of a hash, so that no name is here
    sequence    bigint NOT NULL,         -- the event's number
    event_id    text NOT NULL,
    PRIMARY KEY (endpoint_id, lane, sequence, event_id)
);
CREATE UNIQUE INDEX webhook_turns_event ON webhook_turns (event_id, endpoint_id);

-- Makes the partition of one month; the caller needs no right to tables but this.
-- Returns whether it was made now. Fails with lock_not_available where somebody is in the way: ask again.
CREATE OR REPLACE FUNCTION make_month(divided text, month date) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout = '100ms' AS $$
DECLARE
    begins CONSTANT timestamptz := date_trunc('month', month)::timestamp AT TIME ZONE 'UTC';
    ends   CONSTANT timestamptz := (date_trunc('month', month) + interval '1 month')::timestamp AT TIME ZONE 'UTC';
    name   CONSTANT text := divided || to_char(month, '_YYYY_MM');
    low    text := begins;
    high   text := ends;
    key    text := 'received_at';
    key_type text := 'timestamptz';
BEGIN
    IF divided IN ('events', 'webhook_deliveries') THEN
        key := CASE divided WHEN 'events' THEN 'id' ELSE 'event_id' END;
        key_type := 'text';
        low := event_floor(begins);
        high := event_floor(ends);
    ELSIF divided = 'webhook_attempts' THEN
        key := 'attempted_at';
    ELSIF divided <> 'submission_proofs' THEN
        RAISE EXCEPTION 'table % is not divided', divided USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF month NOT BETWEEN now() - interval '2 months' AND now() + interval '14 months' THEN
        RAISE EXCEPTION 'month % is too far away', month USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(x'436F756E6D6F'::bigint);
    IF EXISTS (SELECT FROM table_months WHERE table_name = divided AND begins_at < ends AND begins < ends_at) THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)', name, divided);
    -- What came before its month was made: a clock that is ahead, or a month that nobody made in time.
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', divided || '_other');
    EXECUTE format('WITH moved AS (DELETE FROM %I WHERE %I >= $1::%s AND %I < $2::%s RETURNING *) INSERT INTO %I SELECT * FROM moved',
        divided || '_other', key, key_type, key, key_type, name) USING low, high;
    IF divided = 'events' THEN
        EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I UNIQUE (account, app, environment, sequence)',
            name, name || '_sequence');
    END IF;
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', divided, name, low, high);
    INSERT INTO table_months (table_name, partition_name, begins_at, ends_at) VALUES (divided, name, begins, ends);
    RETURN true;
END $$;

DO $$
DECLARE
    month date;
BEGIN
    EXECUTE format('ALTER FUNCTION make_month(text, date) SET search_path = %I, pg_temp', current_schema());
    FOR month IN SELECT date_trunc('month', now() AT TIME ZONE 'UTC') + n * interval '1 month' FROM generate_series(0, 2) n LOOP
        PERFORM make_month('webhook_attempts', month);
    END LOOP;
END $$;
