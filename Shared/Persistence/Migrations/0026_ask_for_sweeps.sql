-- POST /v1/sweeps: a backend has Apple asked about a customer. Intake writes a row; a worker makes its tasks due.

CREATE TABLE sweep_requests (
    id           text PRIMARY KEY,     -- swp_ and 32 hexadecimal digits
    app          text NOT NULL,
    subjects     text[] NOT NULL,      -- one purchase of each customer, as environment/transaction id; no name, no token
    requested_at timestamptz NOT NULL DEFAULT now(),
    taken_at     timestamptz,          -- when a worker made the tasks due
    task_ids     bigint[] NOT NULL DEFAULT '{}',
    calls_before bigint NOT NULL DEFAULT 0, -- of these tasks together
    found_before bigint NOT NULL DEFAULT 0
);
CREATE INDEX sweep_requests_app ON sweep_requests (app, requested_at);
CREATE INDEX sweep_requests_waiting ON sweep_requests (requested_at) WHERE taken_at IS NULL;
