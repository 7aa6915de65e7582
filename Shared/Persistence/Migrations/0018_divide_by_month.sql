-- What expires is divided by month, so that a month is dropped and not deleted row by row: events, deliveries, proofs.
--
-- The tables as they are become the first partition of each; FirstPartition has made sure before that no row is read for it.
-- All locks at once, and only for as long as this takes: whoever cannot have them within 100 ms begins anew (Migrator).
LOCK TABLE events, webhook_deliveries, submissions IN ACCESS EXCLUSIVE MODE;

-- The partitions of each divided table, but for the default ones, which take what no month is meant for.
CREATE TABLE table_months (
    table_name     text NOT NULL,
    partition_name text PRIMARY KEY,
    begins_at      timestamptz NOT NULL,    -- '-infinity': the table as it was before
    ends_at        timestamptz NOT NULL,    -- the first instant after it
    CONSTRAINT table_months_once UNIQUE (table_name, begins_at)
);

-- How far retention has come: what is older is gone, and nothing that looks at the tables misses it.
CREATE TABLE retention_marks (
    name        text PRIMARY KEY,           -- a divided table; rejected_proofs, notifications, rejected
    dropped_before timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL DEFAULT now()
);

-- What no event sorts before whose id was made at this time or later (EventIdentifier.eventFloor).
CREATE FUNCTION event_floor(at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT 'evt_' || lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0')
$$;

-- A proof of a submission, apart from its row: the row lives as long as the books, the proof as long as retention says.
CREATE TABLE submission_proofs (
    received_at   timestamptz NOT NULL,     -- submissions.proof_at
    submission_id text NOT NULL,
    proof         text,                     -- NULL where its header is stored once: then it is header, a dot and the rest
    header        bytea,                    -- a fingerprint in proof_headers
    rest          text,
    PRIMARY KEY (received_at, submission_id),
    CONSTRAINT submission_proofs_are_whole CHECK (proof IS NOT NULL OR header IS NOT NULL AND rest IS NOT NULL)
) PARTITION BY RANGE (received_at);
CREATE TABLE submission_proofs_other PARTITION OF submission_proofs DEFAULT;

-- Where a proof is: NULL is in the row itself, as all were before, and as bare transaction ids are for good.
ALTER TABLE submissions
    ADD COLUMN proof_at timestamptz,
    DROP CONSTRAINT submissions_have_a_proof,
    ADD CONSTRAINT submissions_have_a_proof CHECK (proof IS NOT NULL OR proof_at IS NOT NULL
        OR proof_header IS NOT NULL AND proof_rest IS NOT NULL) NOT VALID;

-- Makes the partition of one month; the caller needs no right to tables but this.
-- Returns whether it was made now. Fails with lock_not_available where somebody is in the way: ask again.
CREATE FUNCTION make_month(divided text, month date) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout = '100ms' AS $$
DECLARE
    begins CONSTANT timestamptz := date_trunc('month', month)::timestamp AT TIME ZONE 'UTC';
    ends   CONSTANT timestamptz := (date_trunc('month', month) + interval '1 month')::timestamp AT TIME ZONE 'UTC';
    name   CONSTANT text := divided || to_char(month, '_YYYY_MM');
    low    text := begins;
    high   text := ends;
    key    text := 'received_at';
BEGIN
    IF divided IN ('events', 'webhook_deliveries') THEN
        key := CASE divided WHEN 'events' THEN 'id' ELSE 'event_id' END;
        low := event_floor(begins);
        high := event_floor(ends);
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
        divided || '_other', key, CASE key WHEN 'received_at' THEN 'timestamptz' ELSE 'text' END,
        key, CASE key WHEN 'received_at' THEN 'timestamptz' ELSE 'text' END, name) USING low, high;
    IF divided = 'events' THEN
        EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I UNIQUE (account, app, environment, sequence)',
            name, name || '_sequence');
    END IF;
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', divided, name, low, high);
    INSERT INTO table_months (table_name, partition_name, begins_at, ends_at) VALUES (divided, name, begins, ends);
    RETURN true;
END $$;

-- Drops one partition whose time is over. Returns why it stays, or NULL where it is gone or never was.
CREATE FUNCTION drop_month(divided text, dropped text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout = '100ms' AS $$
DECLARE
    month  table_months;
    low    text;
    high   text;
    wanted boolean := false;
BEGIN
    PERFORM pg_advisory_xact_lock(x'436F756E6D6F'::bigint);
    SELECT * INTO month FROM table_months WHERE table_name = divided AND partition_name = dropped;
    IF NOT FOUND THEN RETURN NULL; END IF;
    -- Whoever may call this can lose no more than what every retention would drop.
    IF month.ends_at > now() - interval '7 days' THEN RETURN 'its month is not over for a week'; END IF;
    low := CASE WHEN month.begins_at = '-infinity' THEN '' ELSE event_floor(month.begins_at) END;
    high := event_floor(month.ends_at);
    IF divided = 'events' THEN
        IF EXISTS (SELECT FROM event_outbox WHERE event_id >= low AND event_id < high) THEN
            RETURN 'the notification service has not taken over all of its events';
        END IF;
        -- What was delivered after its own month had been dropped.
        DELETE FROM webhook_deliveries_other WHERE event_id >= low AND event_id < high AND due_at IS NULL;
        IF EXISTS (SELECT FROM webhook_deliveries WHERE event_id >= low AND event_id < high) THEN
            RETURN 'deliveries of its events are still there';
        END IF;
    ELSIF divided = 'webhook_deliveries' THEN
        EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE due_at IS NOT NULL)', dropped) INTO wanted;
        IF wanted THEN RETURN 'some of its deliveries are pending'; END IF;
    ELSIF divided = 'submission_proofs' THEN
        IF EXISTS (SELECT FROM submissions WHERE due_at IS NOT NULL
                AND proof_at >= month.begins_at AND proof_at < month.ends_at)
            OR EXISTS (SELECT FROM submissions WHERE state = 'parked'
                AND proof_at >= month.begins_at AND proof_at < month.ends_at) THEN
            RETURN 'some of its submissions have no outcome yet';
        END IF;
    END IF;
    EXECUTE format('DROP TABLE %I', dropped);
    DELETE FROM table_months WHERE partition_name = dropped;
    INSERT INTO retention_marks (name, dropped_before) VALUES (divided, month.ends_at)
        ON CONFLICT (name) DO UPDATE
        SET dropped_before = greatest(retention_marks.dropped_before, excluded.dropped_before), updated_at = now();
    RETURN NULL;
END $$;

-- Removes submissions that are no record of money, settled before a time: the oldest, as many as the limit. What they told stays in
-- the books. `what` is notifications (Apple's, that were dealt with) or rejected (what accounts posted in vain). Returns how many.
CREATE FUNCTION drop_submissions(what text, before timestamptz, most bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    condition CONSTANT text := CASE what
        WHEN 'notifications' THEN $c$account = '' AND state IN ('fulfilled', 'rejected')$c$
        WHEN 'rejected' THEN $c$account <> '' AND state = 'rejected'$c$ END;
    removed bigint;
    newest  timestamptz;
BEGIN
    IF condition IS NULL THEN
        RAISE EXCEPTION 'submissions % are not removed', what USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- Whoever may call this can lose no more than what every retention would drop.
    IF before > now() - interval '7 days' THEN
        RAISE EXCEPTION 'submissions of the last week stay' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    EXECUTE format($q$
        WITH chosen AS (
            SELECT id, proof_at, settled_at, outcome FROM submissions
            WHERE %s AND settled_at < $1 ORDER BY settled_at LIMIT $2 FOR UPDATE SKIP LOCKED
        ), links AS (
            DELETE FROM submission_transactions w
            USING chosen CROSS JOIN LATERAL jsonb_to_recordset(CASE jsonb_typeof(chosen.outcome -> 'transactions')
                    WHEN 'array' THEN chosen.outcome -> 'transactions' END) AS t (environment text, transaction_id text)
                JOIN order_transactions i
                    ON (i.environment, i.transaction_id) = (coalesce(t.environment, 'production'), t.transaction_id)
            WHERE (w.environment, w.transaction_id, w.submission_id) = (i.environment, i.order_transaction_id, chosen.id)
        ), proofs AS (
            DELETE FROM submission_proofs p USING chosen
            WHERE p.received_at = chosen.proof_at AND p.submission_id = chosen.id
        ), gone AS (
            DELETE FROM submissions s USING chosen WHERE s.id = chosen.id RETURNING chosen.settled_at
        )
        SELECT count(*), max(settled_at) FROM gone$q$, condition) INTO removed, newest USING before, most;
    IF removed > 0 THEN
        INSERT INTO retention_marks (name, dropped_before) VALUES (what, newest + interval '1 microsecond')
            ON CONFLICT (name) DO UPDATE
            SET dropped_before = greatest(retention_marks.dropped_before, excluded.dropped_before), updated_at = now();
    END IF;
    RETURN removed;
END $$;

REVOKE EXECUTE ON FUNCTION make_month(text, date), drop_month(text, text), drop_submissions(text, timestamptz, bigint) FROM PUBLIC;

-- The tables as they are become first partitions. What was granted to them is granted to the whole.
ALTER TABLE webhook_deliveries DROP CONSTRAINT webhook_deliveries_event_id_fkey;
ALTER TABLE events RENAME TO events_first;
ALTER TABLE events_first RENAME CONSTRAINT events_pkey TO events_first_pkey;
ALTER TABLE events_first RENAME CONSTRAINT events_sequence_is_unique TO events_first_sequence;
ALTER INDEX events_transaction RENAME TO events_first_transaction;
ALTER INDEX events_due RENAME TO events_first_due;
CREATE TABLE events (LIKE events_first INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE) PARTITION BY RANGE (id);
ALTER TABLE events ADD CONSTRAINT events_pkey PRIMARY KEY (id);
CREATE INDEX events_transaction ON events (environment, transaction_id);
CREATE INDEX events_due ON events (due_at) WHERE due_at IS NOT NULL;

ALTER TABLE webhook_deliveries RENAME TO webhook_deliveries_first;
ALTER TABLE webhook_deliveries_first RENAME CONSTRAINT webhook_deliveries_pkey TO webhook_deliveries_first_pkey;
ALTER INDEX webhook_deliveries_due RENAME TO webhook_deliveries_first_due;
ALTER INDEX webhook_deliveries_abandoned RENAME TO webhook_deliveries_first_abandoned;
CREATE TABLE webhook_deliveries (LIKE webhook_deliveries_first INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)
    PARTITION BY RANGE (event_id);
ALTER TABLE webhook_deliveries ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (event_id, endpoint_id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_abandoned ON webhook_deliveries (event_id, endpoint_id) WHERE state = 'abandoned';

DO $$
DECLARE
    divided text;
    granted record;
    ends    timestamptz;
    month   date;
BEGIN
    FOR granted IN
        SELECT regexp_replace(c.relname, '_first$', '') AS table_name, g.* FROM pg_class c
        CROSS JOIN LATERAL (
            SELECT a.grantee, a.privilege_type, NULL::name AS column_name FROM aclexplode(c.relacl) a
            UNION ALL
            SELECT a.grantee, a.privilege_type, t.attname
            FROM pg_attribute t CROSS JOIN LATERAL aclexplode(t.attacl) a WHERE t.attrelid = c.oid) g
        WHERE c.oid IN ('events_first'::regclass, 'webhook_deliveries_first'::regclass) AND g.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT %s %s ON %I TO %s', granted.privilege_type,
            '(' || quote_ident(granted.column_name) || ')', granted.table_name,
            CASE granted.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(granted.grantee)) END);
        -- Nobody asks a partition by its own name.
        EXECUTE format('REVOKE %s %s ON %I FROM %s', granted.privilege_type,
            '(' || quote_ident(granted.column_name) || ')', granted.table_name || '_first',
            CASE granted.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(granted.grantee)) END);
    END LOOP;
    -- FirstPartition has written down where the first partitions end, unless there was nothing yet.
    SELECT to_timestamp(('x' || (regexp_match(pg_get_constraintdef(oid), 'evt_([0-9a-f]{12})'))[1])::bit(48)::bigint / 1000.0)
        INTO ends FROM pg_constraint WHERE conrelid = 'events_first'::regclass AND conname = 'events_first_bound';
    IF ends IS NULL AND (EXISTS (SELECT FROM events_first) OR EXISTS (SELECT FROM webhook_deliveries_first)) THEN
        -- The first rows came meanwhile: few enough to be read now.
        ends := (date_trunc('month', now() AT TIME ZONE 'UTC') + interval '3 months') AT TIME ZONE 'UTC';
    END IF;
    IF ends IS NULL THEN
        DROP TABLE webhook_deliveries_first;
        DROP TABLE events_first;
    ELSE
        ALTER TABLE events DROP CONSTRAINT IF EXISTS events_first_bound;
        ALTER TABLE webhook_deliveries DROP CONSTRAINT IF EXISTS webhook_deliveries_first_bound;
        EXECUTE format('ALTER TABLE events ATTACH PARTITION events_first FOR VALUES FROM (MINVALUE) TO (%L)', event_floor(ends));
        EXECUTE format('ALTER TABLE webhook_deliveries ATTACH PARTITION webhook_deliveries_first'
            ' FOR VALUES FROM (MINVALUE) TO (%L)', event_floor(ends));
        ALTER TABLE events_first DROP CONSTRAINT IF EXISTS events_first_bound;
        ALTER TABLE webhook_deliveries_first DROP CONSTRAINT IF EXISTS webhook_deliveries_first_bound;
        INSERT INTO table_months (table_name, partition_name, begins_at, ends_at) VALUES
            ('events', 'events_first', '-infinity', ends),
            ('webhook_deliveries', 'webhook_deliveries_first', '-infinity', ends);
    END IF;
    CREATE TABLE events_other PARTITION OF events DEFAULT;
    ALTER TABLE events_other ADD CONSTRAINT events_other_sequence UNIQUE (account, app, environment, sequence);
    CREATE TABLE webhook_deliveries_other PARTITION OF webhook_deliveries DEFAULT;
    EXECUTE format('ALTER FUNCTION make_month(text, date) SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION drop_month(text, text) SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION drop_submissions(text, timestamptz, bigint) SET search_path = %I, pg_temp', current_schema());
    FOR month IN SELECT date_trunc('month', now() AT TIME ZONE 'UTC') + n * interval '1 month' FROM generate_series(0, 2) n LOOP
        FOREACH divided IN ARRAY ARRAY['events', 'webhook_deliveries', 'submission_proofs'] LOOP
            PERFORM make_month(divided, month);
        END LOOP;
    END LOOP;
END $$;
