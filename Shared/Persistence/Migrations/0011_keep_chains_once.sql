-- The headers of what Apple signs: a chain of certificates, 4.4 kB of a signed transaction's 5, and the same in all that Apple
-- signs for a year or two. A row is written when a proof with it was verified; rows are never changed nor removed.
CREATE TABLE proof_headers (
    fingerprint bytea PRIMARY KEY,      -- SHA-256 of the header
    header      text NOT NULL CHECK (octet_length(header) BETWEEN 1 AND 16384),
    created_at  timestamptz NOT NULL DEFAULT now()
);

-- A proof whose header is kept once is the header, a dot and the rest. Its column proof is NULL: a program of the version before
-- takes that for a proof that it has to ask for, and never for a proof without its header.
ALTER TABLE submissions
    ALTER COLUMN proof DROP NOT NULL,
    ADD COLUMN proof_header bytea,      -- a fingerprint; no foreign key, whose check would lock the one row for every purchase
    ADD COLUMN proof_rest text,
    -- Not looked at in rows that exist: they all have a proof.
    ADD CONSTRAINT submissions_have_a_proof
        CHECK (proof IS NOT NULL OR (proof_header IS NOT NULL AND proof_rest IS NOT NULL)) NOT VALID;
