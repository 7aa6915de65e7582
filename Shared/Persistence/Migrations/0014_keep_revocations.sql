-- Certificates of the App Store's that a responder has said are revoked. A worker learns it, all know it, also after a restart and
-- when the responder does not answer. A row is taken out by hand only.
CREATE TABLE revoked_certificates (
    sha256      bytea PRIMARY KEY CHECK (octet_length(sha256) = 32), -- of the certificate
    certificate bytea NOT NULL,       -- DER
    revoked_at  timestamptz NOT NULL, -- by the responder
    reason      integer,              -- a number of RFC 5280, section 5.3.1; NULL where it does not say
    answer      bytea NOT NULL,       -- the OCSP response that says so, DER
    learnt_at   timestamptz NOT NULL DEFAULT now()
);
