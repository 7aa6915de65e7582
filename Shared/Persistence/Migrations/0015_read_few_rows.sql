-- Every look that is repeated reads a bounded number of rows, however many are due. The indexes for it are made before this,
-- beside running services (IndexChange.readFewRows); here are the statistics of what they are made of.
ANALYZE submissions;
ANALYZE orders;

-- Tokens whose orders may be released: asked for by whoever registers a token and by whoever parks an order for it, so that
-- nobody looks again and again at orders that nothing has happened to. Fulfillment removes what it has looked at.
CREATE TABLE release_requests (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app            text NOT NULL,
    token          uuid NOT NULL,
    due_at         timestamptz NOT NULL DEFAULT now(),
    environment    text,                -- with the next one: the last of its orders that was looked at
    transaction_id text
);
CREATE INDEX release_requests_due ON release_requests (due_at);

-- A trigger, so that an intake of the version before asks, too; and the owner's rights, so that it need not have any here.
-- The token of an intent is new to the world: nobody can have bought with it yet.
CREATE FUNCTION request_release() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('INSERT INTO %I.release_requests (app, token) SELECT $1, $2'
        ' WHERE NOT EXISTS (SELECT FROM %I.purchase_intents WHERE id = $2)', TG_TABLE_SCHEMA, TG_TABLE_SCHEMA)
        USING NEW.app, NEW.token;
    RETURN NULL;
END $$;
CREATE TRIGGER account_tokens_request_release AFTER INSERT ON account_tokens
    FOR EACH ROW EXECUTE FUNCTION request_release();
