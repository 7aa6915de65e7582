-- A lineage may have several original transaction ids: Apple gave lapsed subscribers new ones in February 2025, and took them
-- back in March; a subscription that takes another's place names the other's. Every table has the lineage's own id, which
-- never changes; here stand the others, each leading to it.
CREATE TABLE lineage_members (
    environment             text NOT NULL,
    original_transaction_id text NOT NULL,       -- as Apple writes it
    lineage_id              text NOT NULL,       -- the lineage's own original id
    app                     text NOT NULL,
    cause                   text NOT NULL,       -- what told of it
    transaction_id          text NOT NULL,       -- which signed transaction did
    submission_id           text NOT NULL,       -- and what brought that
    created_at              timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (environment, original_transaction_id),
    CONSTRAINT lineage_members_are_others CHECK (original_transaction_id <> lineage_id),
    CONSTRAINT lineage_members_cause_is_known CHECK (cause IN ('transaction', 'previous_original'))
);
CREATE INDEX lineage_members_lineage ON lineage_members (environment, lineage_id);

ALTER TABLE purchase_conflicts DROP CONSTRAINT purchase_conflicts_cause_is_known,
    ADD CONSTRAINT purchase_conflicts_cause_is_known
        CHECK (cause IN ('line_item_of_another', 'two_line_items', 'two_orders', 'original_differs', 'two_owners'));
