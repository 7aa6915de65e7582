-- Until when an older system granted what was bought, and what was imported from it.

-- Every process judges by these rows, so that it does not matter who decides an order, nor when.
CREATE TABLE cut_overs (
    environment text NOT NULL,
    app         text NOT NULL,
    product_id  text NOT NULL,           -- '' for every product without a row of its own
    cut_over    timestamptz,             -- bought before it: granted by the older system; null: everything, until it is set
    is_told     boolean NOT NULL,        -- whether events tell of what the older system granted
    audit_id    bigint NOT NULL,         -- who set it last, and why
    changed_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, environment, product_id),
    CONSTRAINT cut_overs_environment_is_known CHECK (environment IN ('production', 'sandbox'))
);

-- Whether the older system granted it, as far as it was granted at all; nothing of it is in the ledger.
ALTER TABLE orders ADD COLUMN granted_elsewhere boolean NOT NULL DEFAULT false;

-- Whether an import brought it: then it says whose something was, and takes nothing from anybody.
ALTER TABLE submissions ADD COLUMN is_imported boolean NOT NULL DEFAULT false;

-- A file that is imported, and how far that has come.
CREATE TABLE imports (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app         text NOT NULL,
    source      text NOT NULL,           -- the file's name
    fingerprint bytea NOT NULL,          -- SHA-256 of what is in it, and of how it is read
    lines_done  bigint NOT NULL DEFAULT 0,
    audit_id    bigint NOT NULL,
    started_at  timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,             -- when its last line was read
    CONSTRAINT imports_read_a_file_once UNIQUE (app, fingerprint)
);

-- Each line of such a file: what the older system says, and what was posted because of it.
CREATE TABLE import_lines (
    import_id      bigint NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
    line           bigint NOT NULL,
    submission_id  text,                 -- null where the line was refused
    flaw           text,                 -- why it was refused
    detail         text,
    transaction_id text,                 -- what the line says, or its signed data; null where it does not
    product_id     text,
    quantity       integer,
    items          jsonb,                -- what the older system credited: {"gem": 100}
    is_granted     boolean NOT NULL DEFAULT true,
    PRIMARY KEY (import_id, line),
    CONSTRAINT import_lines_are_posted_or_refused CHECK ((submission_id IS NULL) = (flaw IS NOT NULL))
);
-- A forgotten account's submissions get other ids.
CREATE INDEX import_lines_submission ON import_lines (submission_id) WHERE submission_id IS NOT NULL;
