-- Forgetting is bound to the moment of its request: what comes by the same name afterwards is a new account's.

-- When all that was there at the request had the pseudonym. Until then fulfillment settles nothing by the name; from then on what was
-- posted before the request is settled by the pseudonym, and the name is the new account's.
ALTER TABLE forget_requests ADD COLUMN renamed_at timestamptz;
-- The new account of that name may ask, too, while the old one's purchases are waited for.
DROP INDEX forget_requests_account;
CREATE UNIQUE INDEX forget_requests_once ON forget_requests (account, app) WHERE account IS NOT NULL AND renamed_at IS NULL;
CREATE INDEX forget_requests_account ON forget_requests (account, app, requested_at) WHERE account IS NOT NULL;
-- What receipt-intake remembers of tokens holds until somebody is to be forgotten.
CREATE INDEX forget_requests_newest ON forget_requests (requested_at);

-- A receipt that comes in parts: what of its earlier parts is held, until the last part says what became of all of it.
ALTER TABLE submissions ADD COLUMN parked_parts jsonb;

-- Drops one partition whose time is over. Returns why it stays, or NULL where it is gone or never was.
-- What is wanted is asked for once nobody else can use the table: who redrives a submission has seen its proof, and has committed by
-- then, or finds no proof. The whole table comes before its part, as for everybody who reads it.
CREATE OR REPLACE FUNCTION drop_month(divided text, dropped text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER
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
    EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', divided);
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', dropped);
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
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION drop_month(text, text) SET search_path = %I, pg_temp', current_schema());
END $$;
