-- Every event gets a position in one order for all readers, given after its transaction is committed. Decision 0025 says why.
--
-- Nobody writes an event while this runs: what is committed before is numbered from here, what comes later by the trigger.
LOCK TABLE event_outbox IN SHARE ROW EXCLUSIVE MODE;

-- Events that are committed and have no position yet: a row for each statement that wrote some.
CREATE TABLE event_queue (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_ids text[] NOT NULL       -- in the order in which they were written
);

-- The order of events. A position is the microsecond in which it was given, at least one more than the one before, so that it
-- grows in a database that was restored from a backup, too.
CREATE TABLE event_positions (
    position    bigint PRIMARY KEY,
    event_id    text NOT NULL,      -- of events, which may have been dropped a moment before this
    app         text NOT NULL,
    environment text NOT NULL,
    account     text,               -- as in events: a pseudonym once it is forgotten
    type        text NOT NULL
) PARTITION BY RANGE (position);
CREATE INDEX event_positions_account ON event_positions (account, app, position) WHERE account IS NOT NULL;
CREATE TABLE event_positions_other PARTITION OF event_positions DEFAULT;

-- How far the order has come; who gives positions holds the only row, so that nobody else does meanwhile.
CREATE TABLE event_numbering (
    is_only       boolean PRIMARY KEY DEFAULT true,
    last_position bigint NOT NULL,
    old_below     text,             -- events of before this migration with smaller ids have no position yet; NULL: all have one
    CONSTRAINT event_numbering_is_one_row CHECK (is_only)
);

-- What a position is at a time: no position that was given then or later is smaller.
CREATE FUNCTION position_floor(at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT floor(extract(epoch FROM at) * 1000000)::bigint
$$;

-- With the owner's rights: no service but fulfillment touches the queue, whoever writes events.
CREATE FUNCTION queue_events() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO event_queue (event_ids) SELECT array_agg(event_id) FROM added HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE TRIGGER event_outbox_is_queued AFTER INSERT ON event_outbox REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION queue_events();

-- Makes the partition of one month, as make_month does for tables that are divided by their ids.
CREATE FUNCTION make_positions(month date) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout = '100ms' AS $$
DECLARE
    begins CONSTANT timestamptz := date_trunc('month', month)::timestamp AT TIME ZONE 'UTC';
    ends   CONSTANT timestamptz := (date_trunc('month', month) + interval '1 month')::timestamp AT TIME ZONE 'UTC';
    name   CONSTANT text := 'event_positions' || to_char(month, '_YYYY_MM');
BEGIN
    IF month NOT BETWEEN now() - interval '2 months' AND now() + interval '14 months' THEN
        RAISE EXCEPTION 'month % is too far away', month USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(x'436F756E6D6F'::bigint);
    IF EXISTS (SELECT FROM table_months WHERE table_name = 'event_positions' AND begins_at < ends AND begins < ends_at) THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE event_positions INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)', name);
    LOCK TABLE event_positions_other IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('WITH moved AS (DELETE FROM event_positions_other WHERE position >= $1 AND position < $2 RETURNING *)'
        ' INSERT INTO %I SELECT * FROM moved', name) USING position_floor(begins), position_floor(ends);
    EXECUTE format('ALTER TABLE event_positions ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
        name, position_floor(begins), position_floor(ends));
    INSERT INTO table_months (table_name, partition_name, begins_at, ends_at) VALUES ('event_positions', name, begins, ends);
    RETURN true;
END $$;

-- Drops one partition whose events were dropped. Returns why it stays, or NULL where it is gone or never was.
CREATE FUNCTION drop_positions(dropped text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout = '100ms' AS $$
DECLARE
    month table_months;
BEGIN
    PERFORM pg_advisory_xact_lock(x'436F756E6D6F'::bigint);
    SELECT * INTO month FROM table_months WHERE table_name = 'event_positions' AND partition_name = dropped;
    IF NOT FOUND THEN RETURN NULL; END IF;
    IF month.ends_at > now() - interval '7 days' THEN RETURN 'its month is not over for a week'; END IF;
    IF EXISTS (SELECT FROM table_months WHERE table_name = 'events' AND begins_at < month.ends_at) THEN
        RETURN 'events that it numbers are still there';
    END IF;
    EXECUTE format('DROP TABLE %I', dropped);
    DELETE FROM table_months WHERE partition_name = dropped;
    INSERT INTO retention_marks (name, dropped_before) VALUES ('event_positions', month.ends_at)
        ON CONFLICT (name) DO UPDATE
        SET dropped_before = greatest(retention_marks.dropped_before, excluded.dropped_before), updated_at = now();
    RETURN NULL;
END $$;

REVOKE EXECUTE ON FUNCTION queue_events(), make_positions(date), drop_positions(text) FROM PUBLIC;

DO $$
DECLARE
    -- Clocks of services differ by less: no event that is written from now on has a smaller id.
    recent CONSTANT text := event_floor(now() - interval '10 minutes');
    old    CONSTANT boolean := EXISTS (SELECT FROM events WHERE id < recent);
    function text;
BEGIN
    FOREACH function IN ARRAY ARRAY['queue_events()', 'make_positions(date)', 'drop_positions(text)'] LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', function, current_schema());
    END LOOP;
    INSERT INTO event_numbering (last_position, old_below) VALUES (position_floor(now()), CASE WHEN old THEN recent END);
    INSERT INTO event_queue (event_ids) SELECT array_agg(id ORDER BY id) FROM (
        SELECT id, (row_number() OVER (ORDER BY id) - 1) / 500 AS part FROM events WHERE id >= recent) written
        GROUP BY part ORDER BY part;
    FOR n IN 0..2 LOOP
        PERFORM make_positions((date_trunc('month', now() AT TIME ZONE 'UTC') + n * interval '1 month')::date);
    END LOOP;
    IF old THEN
        -- What is numbered backwards, and is older than this month.
        EXECUTE format('CREATE TABLE event_positions_first PARTITION OF event_positions FOR VALUES FROM (MINVALUE) TO (%s)',
            position_floor(date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'));
        INSERT INTO table_months (table_name, partition_name, begins_at, ends_at) VALUES ('event_positions',
            'event_positions_first', '-infinity', date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC');
    END IF;
END $$;
