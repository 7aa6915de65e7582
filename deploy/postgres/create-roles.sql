-- The roles of an installation: run once, by a superuser; harmless to repeat. deploy/postgres/README.md says how.
--   psql -X -v ON_ERROR_STOP=1 -d postgres -f create-roles.sql
-- None has a password yet: set each by psql's \password, which sends a hash and leaves nothing in a log.

DO $$
DECLARE
    name text;
BEGIN
    -- The owner of the database and of every table: `countersign migrate` runs as it, and no service does.
    -- Then a role for each process, one that only reads (doctor, inspect, audit, …), and one for acts by hand.
    FOREACH name IN ARRAY ARRAY[
        'countersign', 'countersign_intake', 'countersign_worker', 'countersign_fulfillment',
        'countersign_notification', 'countersign_reader', 'countersign_operator']
    LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I LOGIN', name);
        END IF;
    END LOOP;
    -- What spending needs, and what people do by the API. They are apart, because they write the ledger.
    FOREACH name IN ARRAY ARRAY['countersign_wallet', 'countersign_desk'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        END IF;
    END LOOP;
END $$;

GRANT countersign_reader TO countersign_operator;
-- What other users' sessions are at, for `countersign database`.
DO $$ BEGIN
    GRANT pg_read_all_stats TO countersign_reader;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'a superuser has to grant pg_read_all_stats to countersign_reader; until then "countersign database" shows less';
END $$;
-- Leave this out where the game holds the wallet itself: POST /v1/accounts/{id}/spend fails then.
GRANT countersign_wallet TO countersign_intake;
-- Leave this out where nobody shall assign orders, adjust accounts and retry submissions by the API, nor by the console: these
-- requests are answered with `rights-missing` then, and `countersign` does the same as countersign_operator.
GRANT countersign_desk TO countersign_intake;
