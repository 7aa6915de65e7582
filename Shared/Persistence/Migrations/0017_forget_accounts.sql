-- Accounts are forgotten: their name becomes a pseudonym in every table, and the sums stay.

-- Who is to be forgotten. The name stands here as long as that is under way; a finished row names nobody, neither by the name
-- nor by the pseudonym.
CREATE TABLE forget_requests (
    id           text PRIMARY KEY,
    app          text NOT NULL,
    account      text,
    pseudonym    text,
    tokens       text[] NOT NULL DEFAULT '{}',   -- its appAccountTokens, which are looked for in Apple's data
    asked_by     text,                           -- goes into audit_log at the end
    reason       text,
    requested_at timestamptz NOT NULL DEFAULT now(),
    due_at       timestamptz DEFAULT now(),      -- a lease: gone on with when it passes; null once finished
    attempts     integer NOT NULL DEFAULT 0,
    waits_for    text,                           -- why nothing is done yet
    changed      jsonb NOT NULL DEFAULT '{}',    -- rows that were changed, by table
    finished_at  timestamptz,
    CONSTRAINT forget_requests_finished_are_not_due CHECK ((finished_at IS NULL) = (due_at IS NOT NULL)),
    CONSTRAINT forget_requests_finished_name_nobody CHECK (CASE WHEN finished_at IS NULL
        THEN num_nulls(account, pseudonym, asked_by, reason) = 0
        ELSE num_nonnulls(account, pseudonym, asked_by, reason, waits_for) = 0 AND tokens = '{}' END)
);
-- Asking twice is asking once.
CREATE UNIQUE INDEX forget_requests_account ON forget_requests (account, app) WHERE account IS NOT NULL;
CREATE INDEX forget_requests_due ON forget_requests (due_at) WHERE due_at IS NOT NULL;

-- Tokens of a forgotten account say nothing in this lineage: of purchases until then, and of their renewals.
ALTER TABLE lineages ADD COLUMN tokens_void_until timestamptz;

-- A forgotten account's submissions get other ids, since an id is a hash of the name. Submissions are never removed; for each id that
-- changes this constraint read all links.
ALTER TABLE submission_transactions DROP CONSTRAINT submission_transactions_submission_id_fkey;

-- Rows that are written once may still lose a name: these columns alone, an account becomes nothing but a pseudonym, and only with it
-- the rest of its row.
CREATE FUNCTION refuse_other_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    pseudonym CONSTANT text := '^forgotten-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
    written   CONSTANT jsonb := to_jsonb(NEW);
    changed   text;
BEGIN
    FOR changed IN
        SELECT key FROM jsonb_each(written) AS after JOIN jsonb_each(to_jsonb(OLD)) AS before USING (key)
        WHERE after.value IS DISTINCT FROM before.value
    LOOP
        IF changed <> ALL (TG_ARGV) OR written ? 'account' AND written ->> 'account' !~ pseudonym
            OR changed LIKE '%account' AND coalesce(written ->> changed, '') !~ pseudonym THEN
            RAISE EXCEPTION 'table % is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
        END IF;
    END LOOP;
    RETURN NEW;
END $$;
DROP TRIGGER ledger_entries_append_only ON ledger_entries;
CREATE TRIGGER ledger_entries_append_only BEFORE DELETE ON ledger_entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_entries_unchanged BEFORE UPDATE ON ledger_entries
    FOR EACH ROW EXECUTE FUNCTION refuse_other_change('account');
DROP TRIGGER spends_append_only ON spends;
CREATE TRIGGER spends_append_only BEFORE DELETE ON spends FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER spends_unchanged BEFORE UPDATE ON spends
    FOR EACH ROW EXECUTE FUNCTION refuse_other_change('account', 'idempotency_key', 'request_sha256', 'reference');
DROP TRIGGER binding_history_append_only ON binding_history;
CREATE TRIGGER binding_history_append_only BEFORE DELETE ON binding_history
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER binding_history_unchanged BEFORE UPDATE ON binding_history
    FOR EACH ROW EXECUTE FUNCTION refuse_other_change('from_account', 'to_account', 'submission_id');
-- Fulfillment may write these columns now, and who did what, and when, stays.
CREATE TRIGGER audit_log_unchanged BEFORE UPDATE ON audit_log
    FOR EACH ROW EXECUTE FUNCTION refuse_other_change('subject', 'reason');

-- What Apple signed, without tokens of these, and without its text where that has one.
CREATE FUNCTION without_tokens(statement jsonb, tokens text[]) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT statement
        - CASE WHEN lower(statement ->> 'app_account_token') = ANY(tokens) THEN 'app_account_token' ELSE '' END
        - CASE WHEN lower(substring(statement ->> 'evidence' FROM '"appAccountToken"\s*:\s*"([0-9A-Fa-f-]{36})"'))
            = ANY(tokens) THEN 'evidence' ELSE '' END
$$;
