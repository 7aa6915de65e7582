-- Endpoints of webhooks that the API and `countersign webhooks` make; those of the webhooks file are not here. How either kind fares is in
-- webhook_endpoints. A row stays when its endpoint is removed, without its address, so that the id never means another.
CREATE TABLE webhook_endpoint_settings (
    id             text PRIMARY KEY,
    url            text NOT NULL,
    description    text NOT NULL DEFAULT '',
    apps           text[] NOT NULL DEFAULT '{}',         -- empty: of all apps. A server API key reaches endpoints of its app alone
    environments   text[] NOT NULL DEFAULT '{}',         -- empty: of both
    events         text[] NOT NULL DEFAULT '{}',         -- types of events, or beginnings and a *; empty: all
    schema_version text NOT NULL,                        -- of the events, as its receiver was written for
    is_ordered     boolean NOT NULL DEFAULT false,       -- whether an account's events are sent one after the other
    created_at     timestamptz NOT NULL DEFAULT now(),
    changed_at     timestamptz NOT NULL DEFAULT now(),
    removed_at     timestamptz,
    cleared_at     timestamptz,                          -- when a look found that nothing waits for a removed endpoint any more
    CONSTRAINT webhook_endpoint_settings_id_is_ours CHECK (id LIKE 'we\_%'),
    CONSTRAINT webhook_endpoint_settings_environments_are_known CHECK (environments <@ ARRAY['production', 'sandbox'])
);

-- What signs webhooks to them: sealed by a key that no table has (COUNTERSIGN_WEBHOOKS_KEY).
CREATE TABLE webhook_endpoint_secrets (
    endpoint_id text NOT NULL REFERENCES webhook_endpoint_settings (id),
    id          text NOT NULL,
    scheme      text NOT NULL,
    sealed      text NOT NULL,
    public_key  text,
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz,                             -- since a newer one took its place; it signs until then
    PRIMARY KEY (endpoint_id, id),
    CONSTRAINT webhook_endpoint_secrets_scheme_is_known CHECK (scheme IN ('v1', 'v1a')),
    CONSTRAINT webhook_endpoint_secrets_public_key_is_of_v1a CHECK ((scheme = 'v1a') = (public_key IS NOT NULL))
);

-- The newest test message to each endpoint; the notification service sends it.
CREATE TABLE webhook_pings (
    endpoint_id  text PRIMARY KEY REFERENCES webhook_endpoint_settings (id),
    id           text NOT NULL,
    asked_at     timestamptz NOT NULL DEFAULT now(),
    due_at       timestamptz DEFAULT now(),              -- a lease; null once it was tried
    finished_at  timestamptz,
    status       integer,
    error        text,
    milliseconds bigint,
    CONSTRAINT webhook_pings_finished_are_not_due CHECK ((finished_at IS NULL) = (due_at IS NOT NULL))
);

-- What waits for an endpoint that is removed goes to nobody: it is taken away, and holds no month back. So is what was given up, which
-- would stand among purchases that are untold, and nobody could tell it. With the owner's rights, since no service may remove a delivery; of
-- endpoints that are there it removes nothing.
CREATE FUNCTION drop_deliveries_of_removed(endpoint text, batch bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    dropped  bigint;
    given_up bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM webhook_endpoint_settings WHERE id = endpoint AND removed_at IS NOT NULL) THEN
        RETURN 0;
    END IF;
    DELETE FROM webhook_resends WHERE endpoint_id = endpoint;
    -- Of the next migration.
    DELETE FROM webhook_turns WHERE endpoint_id = endpoint AND event_id = ANY(ARRAY(
        SELECT event_id FROM webhook_turns WHERE endpoint_id = endpoint LIMIT batch));
    DELETE FROM webhook_deliveries d USING (
        SELECT event_id FROM webhook_deliveries WHERE endpoint_id = endpoint AND due_at IS NOT NULL
        ORDER BY due_at LIMIT batch FOR UPDATE SKIP LOCKED
    ) waiting
    WHERE d.event_id = waiting.event_id AND d.endpoint_id = endpoint;
    GET DIAGNOSTICS dropped = ROW_COUNT;
    DELETE FROM webhook_deliveries WHERE endpoint_id = endpoint AND state = 'abandoned' AND event_id = ANY(ARRAY(
        SELECT event_id FROM webhook_deliveries WHERE endpoint_id = endpoint AND state = 'abandoned' LIMIT batch));
    GET DIAGNOSTICS given_up = ROW_COUNT;
    RETURN dropped + given_up;
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION drop_deliveries_of_removed(text, bigint) SET search_path = %I, pg_temp', current_schema());
END $$;
REVOKE EXECUTE ON FUNCTION drop_deliveries_of_removed(text, bigint) FROM PUBLIC;
