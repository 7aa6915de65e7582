-- What Apple's server tells is told apart from what a device shows, and words of Apple's that this version does not know are noted.

-- Words in Apple's enumerated fields, and names of its fields, that are not the usual ones: a row for each, whoever has it.
CREATE TABLE unknown_values (
    app            text NOT NULL,
    field          text NOT NULL,        -- Apple's name of it; 'transaction.NAME' or 'renewalInfo.NAME' where the name itself is new
    value          text NOT NULL,        -- empty where the name itself is new: a value may be anybody's
    is_named       boolean NOT NULL,     -- whether the version that noted it knows the word by name, and a policy decides
    effect         text NOT NULL,        -- holds, revokes, noted
    environment    text NOT NULL,        -- of the first transaction that had it
    transaction_id text NOT NULL,
    first_seen_at  timestamptz NOT NULL DEFAULT now(),
    last_seen_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, field, value)
);

-- Signed anew under another type: what it was granted by stays.
ALTER TABLE purchase_conflicts DROP CONSTRAINT purchase_conflicts_cause_is_known,
    ADD CONSTRAINT purchase_conflicts_cause_is_known
        CHECK (cause IN ('line_item_of_another', 'two_line_items', 'two_orders', 'original_differs', 'type_differs'));
