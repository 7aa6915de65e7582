-- Every catalogue that was ever in use, so that an order says by which one it was granted.
CREATE TABLE catalogues (
    version   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sha256    text NOT NULL,
    content   text NOT NULL,             -- the file as it was read
    loaded_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT catalogues_are_distinct UNIQUE (sha256)
);
CREATE TRIGGER catalogues_append_only BEFORE UPDATE OR DELETE ON catalogues
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

ALTER TABLE orders
    ADD COLUMN catalogue_version bigint REFERENCES catalogues (version), -- null in orders older than this column
    ADD COLUMN is_price_expected boolean;       -- null where the catalogue or Apple's data names no price
