-- The schema of a new database, by subject. Money is a whole number of milliunits with a currency; Apple's ids are
-- text; times are timestamptz; a state is a text with a named CHECK. The environment is part of every key that Apple's
-- ids are in.
--
-- A table has one writer (README.md); its comment ends with it. INDEXES.md says what each index costs.
-- An id in `transaction_id` of a table other than order_transactions is an order's own id.
-- After the first release a change stands here and in a migration, too: deploy/HACKING.md.

------------------------------------------------------------------------------------------------------------------------
-- Rules that several tables have
------------------------------------------------------------------------------------------------------------------------

-- Rows are only added.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'table % is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

-- Rows that are written once may still lose a name: the columns that the trigger names, and no others. An account
-- becomes nothing but a pseudonym, and only with it the rest of its row.
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

-- Who did what by hand, and why: a row for each act, in the transaction of the act. Written by AuditLog.
CREATE TABLE audit_log (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    actor      text NOT NULL,
    action     text NOT NULL,
    subject    text NOT NULL,
    reason     text NOT NULL,
    app        text,                           -- whose acts it is among; null for what is of no app, or of several
    created_at timestamptz NOT NULL DEFAULT now()
);
-- AuditLogReading.page: an app's lines, the newest first.
CREATE INDEX audit_log_app ON audit_log (app, id) WHERE app IS NOT NULL;
-- Who did what, and when, stays when an account is forgotten.
CREATE TRIGGER audit_log_unchanged BEFORE UPDATE ON audit_log
    FOR EACH ROW EXECUTE FUNCTION refuse_other_change('subject', 'reason');

-- Whose data people looked at by a key of the staff: a row for each account or order that an answer told of, and one for an answer
-- of many. Removed after COUNTERSIGN_RETENTION_VIEWS. Written by ViewStore.
CREATE TABLE views (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app            text NOT NULL,
    actor          text NOT NULL,              -- as in audit_log
    route          text NOT NULL,              -- method and path, with the parameters' names
    environment    text,                       -- null for what is of both
    account        text,                       -- null where many were listed, or nobody has the order
    transaction_id text,                       -- an order's own id; null for what is not about one
    request_id     text NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now()
);
-- ViewReading.page: an app's rows, the newest first; and those of one account, as forgetting and exports want them, too.
CREATE INDEX views_app ON views (app, id);
CREATE INDEX views_account ON views (account, app, id) WHERE account IS NOT NULL;
-- ViewStore.removeOld.
CREATE INDEX views_old ON views (created_at);
CREATE TRIGGER views_unchanged BEFORE UPDATE ON views
    FOR EACH ROW EXECUTE FUNCTION refuse_other_change('account');

-- What acts were answered that callers named by an Idempotency-Key: a repetition does nothing more. Key and request stand here as
-- hashes, and answers name no account, so that nothing of a person is here. Removed after 24 hours. Written by RememberedActStore.
CREATE TABLE remembered_acts (
    app            text NOT NULL,
    key_sha256     text NOT NULL,
    request_sha256 text NOT NULL,              -- the same key with another request is refused
    route          text NOT NULL,
    status         integer NOT NULL,
    headers        jsonb NOT NULL,
    body           text NOT NULL,              -- sealed where it tells a secret
    created_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, key_sha256)
);
-- RememberedActStore.removeOld.
CREATE INDEX remembered_acts_old ON remembered_acts (created_at);

-- When each server key was used last, to a minute: a row for each that was ever used. Written by ServerKeyUseStore.
CREATE TABLE server_key_uses (
    app         text NOT NULL,
    fingerprint text NOT NULL,                 -- the first digits of the key's SHA-256
    used_at     timestamptz NOT NULL,
    PRIMARY KEY (app, fingerprint)
);

-- What `countersign doctor` found when it was run last: one row. Written by DoctorReportStore.
CREATE TABLE doctor_findings (
    is_last   boolean PRIMARY KEY DEFAULT true,
    findings  jsonb NOT NULL,                  -- a list of level, subject, detail, remedy
    looked_at timestamptz NOT NULL,
    CONSTRAINT doctor_findings_are_the_last CHECK (is_last)
);

------------------------------------------------------------------------------------------------------------------------
-- Submissions
------------------------------------------------------------------------------------------------------------------------

-- Something received that must get an outcome. The id is a hash of app, account and proof: posting again is this row.
-- The row lives as long as the books, its proof as long as retention says. Written by SubmissionStore.
CREATE TABLE submissions (
    id                   text PRIMARY KEY,
    state                text NOT NULL DEFAULT 'received',
    due_at               timestamptz,          -- a lease: sent again when it passes; null once settled
    attempts             integer NOT NULL DEFAULT 0,
    app                  text NOT NULL,
    account              text NOT NULL,        -- '' where Apple posted it
    kind                 text NOT NULL,
    partition_key        text NOT NULL,        -- original transaction id peeked from the proof, else the account
    correlation_id       text NOT NULL,
    named_transaction_id text,                 -- which transaction of a receipt the app names as the account's
    expected_environment text,                 -- what the app was built for: a hint, never a proof
    is_server            boolean NOT NULL DEFAULT false, -- the studio's server posted it, whose word is enough;
                                               -- a player's token proves who posts, not who bought
    is_imported          boolean NOT NULL DEFAULT false, -- an import brought it: it says whose something was, and takes
                                               -- nothing from anybody
    received_at          timestamptz NOT NULL DEFAULT now(),
    settled_at           timestamptz,
    reason               text,
    outcome              jsonb,                -- what the app is told
    parked_parts         jsonb,                -- a receipt that comes in parts: what of its earlier parts is held, until the last part
                                               -- says what became of all of it
    proof                text,                 -- a bare id; '' where a proof was removed; else null
    proof_at             timestamptz,          -- submission_proofs.received_at; null where the proof is a bare id, or removed
    alarmed_at           timestamptz,          -- when it was too old without an outcome; it stays due all the same
    -- Real answers of Apple's that it knows no such id. Of one sending (attempts) one answer counts, however often its verdict is
    -- delivered.
    not_found_count      integer NOT NULL DEFAULT 0,
    not_found_attempt    integer,              -- attempts, when the last one was counted
    first_not_found_at   timestamptz,
    -- What was rejected because of it is opened again: by the same post, at a pace, and when an order of it appears.
    reopened_count       integer NOT NULL DEFAULT 0, -- by posts
    reopened_at          timestamptz,
    CONSTRAINT submissions_state_is_known CHECK (state IN ('received', 'fulfilled', 'rejected', 'parked')),
    CONSTRAINT submissions_unsettled_are_due CHECK ((state = 'received') = (due_at IS NOT NULL)),
    CONSTRAINT submissions_settled_have_outcome CHECK ((state = 'received') = (outcome IS NULL)),
    CONSTRAINT submissions_expected_environment_is_known
        CHECK (expected_environment IN ('production', 'sandbox')),
    CONSTRAINT submissions_have_a_proof CHECK (proof IS NOT NULL OR proof_at IS NOT NULL)
);
-- SubmissionStore.claimDue.
CREATE INDEX submissions_due ON submissions (due_at) WHERE due_at IS NOT NULL;
-- SubmissionStore.raiseAlarms, and monitoring: the oldest without and with an alarm.
CREATE INDEX submissions_unalarmed ON submissions ((coalesce(reopened_at, received_at)))
    WHERE due_at IS NOT NULL AND alarmed_at IS NULL;
CREATE INDEX submissions_alarmed ON submissions ((coalesce(reason, 'no_verdict')), (coalesce(reopened_at, received_at)))
    WHERE due_at IS NOT NULL AND alarmed_at IS NOT NULL;
-- What an account posted: AccountExport, ForgettingStore; SubmissionListStore, the newest first.
CREATE INDEX submissions_account ON submissions (account, app, (coalesce(reopened_at, received_at))) WHERE account <> '';
-- SubmissionListStore, UndeliveredListStore, OverviewStore: an app's submissions that are not fulfilled, by time. The condition
-- is SubmissionListStore.isUnfulfilled, from which no other statement's follows.
CREATE INDEX submissions_unfulfilled ON submissions (app, state, (coalesce(reopened_at, received_at)))
    WHERE state || '' <> 'fulfilled';
-- IdentifierStore: what a request posted.
CREATE INDEX submissions_correlation ON submissions (correlation_id);
-- SubmissionStore.reopen: Apple did not know the id, and an order of it appears.
CREATE INDEX submissions_not_found ON submissions (app, coalesce(named_transaction_id, proof))
    WHERE state = 'rejected' AND reason IN ('transaction_not_found', 'transaction_not_in_receipt')
        AND kind IN ('transaction_id', 'receipt') AND length(coalesce(named_transaction_id, proof)) < 100;
-- OutcomeCountStore: how many were rejected lately, how many are parked, and since when, by reason. Retention, too.
CREATE INDEX submissions_rejected ON submissions (settled_at, reason) WHERE state = 'rejected';
CREATE INDEX submissions_parked ON submissions (reason, settled_at) WHERE state = 'parked';
-- drop_submissions.
CREATE INDEX submissions_dealt_with ON submissions (settled_at)
    WHERE account = '' AND NOT is_imported AND state IN ('fulfilled', 'rejected');
-- IdentifierStore: who posted a number. A signed transaction has no entry.
CREATE INDEX submissions_by_number ON submissions ((coalesce(named_transaction_id, partition_key)))
    WHERE named_transaction_id IS NOT NULL OR kind IN ('transaction_id', 'order_id');

-- The proofs, apart from their rows and divided by month. Written by SubmissionStore.
CREATE TABLE submission_proofs (
    received_at   timestamptz NOT NULL,        -- submissions.proof_at
    submission_id text NOT NULL,
    proof         text,                        -- null where its header is stored once: then it is header, a dot and the rest
    header        bytea,                       -- a fingerprint in proof_headers; no foreign key, whose check would lock the
                                               -- one row for every purchase
    rest          text,
    PRIMARY KEY (received_at, submission_id),
    CONSTRAINT submission_proofs_are_whole CHECK (proof IS NOT NULL OR header IS NOT NULL AND rest IS NOT NULL)
) PARTITION BY RANGE (received_at);
CREATE TABLE submission_proofs_other PARTITION OF submission_proofs DEFAULT;

-- The headers of what Apple signs: a chain of certificates, 4.4 kB of a signed transaction's 5, and the same in all
-- that Apple signs for a year or two. A row is written when a proof with it was verified; rows are never changed nor
-- removed. Written by ProofHeaders.
CREATE TABLE proof_headers (
    fingerprint bytea PRIMARY KEY,             -- SHA-256 of the header
    header      text NOT NULL CHECK (octet_length(header) BETWEEN 1 AND 16384),
    created_at  timestamptz NOT NULL DEFAULT now()
);

-- Which parked submissions wait for which orders, so that they hear of a later grant. No foreign key: a forgotten
-- account's submissions get other ids, and it would read all links for each. Written by WaitingSubmissionStore.
CREATE TABLE submission_transactions (
    environment    text NOT NULL,
    transaction_id text NOT NULL,
    submission_id  text NOT NULL,
    PRIMARY KEY (environment, transaction_id, submission_id)
);

------------------------------------------------------------------------------------------------------------------------
-- Orders
------------------------------------------------------------------------------------------------------------------------

-- One purchase. Apple gives a purchase one transaction id or several (a restore, another device, a re-grant);
-- transaction_id is the one under which it was recorded first, and never changes. A purchase has a key of its own
-- beside Apple's ids (PurchaseKey):
--   o:<original>                        what is bought once: a non-consumable, a non-renewing subscription, or unstated
--   p:<original>:<webOrderLineItemId>   a period of an auto-renewable subscription
--   d:<original>:<product>:<seconds>    the same period, where Apple's data lacks the webOrderLineItemId
-- A consumable has none: its one transaction id is its key. Written by OrderStore.
CREATE TABLE orders (
    environment             text NOT NULL,
    transaction_id          text NOT NULL,
    state                   text NOT NULL,
    reason                  text,              -- why it is parked or revoked
    account                 text,              -- null while in doubt
    app                     text NOT NULL,
    product_id              text NOT NULL,
    product_type            text NOT NULL,
    quantity                integer NOT NULL,
    original_transaction_id text NOT NULL,
    purchase_key            text,
    fallback_key            text,
    web_order_line_item_id  text,              -- null where Apple's data has none, or 0
    purchase_date           timestamptz NOT NULL,
    original_purchase_date  timestamptz,
    expires_date            timestamptz,
    signed_date             timestamptz NOT NULL,
    revocation_date         timestamptz,       -- when Apple took it back
    revoked_at              timestamptz,       -- when Countersign heard
    revocation_type         text,              -- REFUND_FULL, REFUND_PRORATED, FAMILY_REVOKE, as Apple wrote it
    revocation_percentage   bigint,            -- thousandths of a per cent
    ownership               text,              -- PURCHASED or FAMILY_SHARED
    app_account_token       uuid,
    app_transaction_id      text,
    price_milliunits        bigint,
    currency                text,
    storefront              text,
    test_purchase           text,              -- nobody paid for it; null for everything else
    submission_id           text NOT NULL,     -- the submission that brought it first
    correlation_id          text NOT NULL,
    created_at              timestamptz NOT NULL DEFAULT now(),
    granted_at              timestamptz,
    granted_elsewhere       boolean NOT NULL DEFAULT false, -- by an older system, as far as at all; nothing of it is in the
                                               -- ledger
    catalogue_version       bigint,            -- no foreign key: every order would lock the row of the catalogue in use
    is_price_expected       boolean,           -- null where the catalogue or Apple's data names no price
    transaction             jsonb NOT NULL,    -- the whole normalised transaction with its evidence
    PRIMARY KEY (environment, transaction_id),
    CONSTRAINT orders_environment_is_known CHECK (environment IN ('production', 'sandbox')),
    CONSTRAINT orders_state_is_known CHECK (state IN ('granted', 'parked', 'revoked')),
    CONSTRAINT orders_quantity_is_positive CHECK (quantity >= 1),
    CONSTRAINT orders_granted_have_account CHECK (state <> 'granted' OR account IS NOT NULL),
    CONSTRAINT orders_granted_have_time CHECK (state <> 'granted' OR granted_at IS NOT NULL),
    CONSTRAINT orders_parked_were_not_granted CHECK (state <> 'parked' OR granted_at IS NULL),
    CONSTRAINT orders_ungranted_have_reason CHECK ((state = 'granted') = (reason IS NULL)),
    CONSTRAINT orders_test_purchases_are_sandbox CHECK (test_purchase IS NULL OR environment = 'sandbox')
);
-- The database itself keeps a purchase from becoming two orders.
CREATE UNIQUE INDEX orders_purchase_key ON orders (environment, app, purchase_key) WHERE purchase_key IS NOT NULL;
CREATE UNIQUE INDEX orders_fallback_key ON orders (environment, app, fallback_key) WHERE fallback_key IS NOT NULL;
-- OrderStore.matches: one line item under two original ids.
CREATE INDEX orders_web_order_line_item ON orders (environment, app, web_order_line_item_id)
    WHERE web_order_line_item_id IS NOT NULL;
-- OrderStore.lock, LineageStore, subscriptions: the period that was bought last is looked for again and again. The
-- environment is not first: in an empty database the checks of the ledger's foreign key would be planned to go by it alone.
CREATE INDEX orders_lineage ON orders (original_transaction_id, environment, purchase_date);
-- AccountStore.transactions, page by page, the newest first.
CREATE INDEX orders_account ON orders (account, app, environment, created_at DESC, transaction_id DESC)
    WHERE account IS NOT NULL;
-- OrderListStore: an app's orders, the newest first; OverviewStore counts those of an hour.
CREATE INDEX orders_newest ON orders (app, environment, created_at, transaction_id);
-- IntentStore.find.
CREATE INDEX orders_app_account_token ON orders (app_account_token) WHERE app_account_token IS NOT NULL;
-- ConsentStore.rescind.
CREATE INDEX orders_app_transaction ON orders (environment, app, app_transaction_id)
    WHERE app_transaction_id IS NOT NULL;
-- OrderStore.doubts: what another catalogue, or a token, may end.
CREATE INDEX orders_in_doubt_by_cause ON orders (app, product_id, reason, environment, transaction_id)
    WHERE state = 'parked' AND reason IN ('product_unknown', 'account_token_unknown', 'product_type_mismatch', 'amount_too_large',
        'vocabulary_unknown');
-- OrderStore.candidates, when a token is registered: also what Apple took back before anybody knew whose it is.
CREATE INDEX orders_nobodys_by_token ON orders (app, app_account_token, environment, transaction_id)
    WHERE account IS NULL AND app_account_token IS NOT NULL
        AND (state = 'revoked' OR state = 'parked' AND reason = 'account_token_unknown');
-- UndeliveredStore, BacklogStore: how many are parked, by environment and reason, and since when.
CREATE INDEX orders_waiting ON orders (environment, reason, created_at) WHERE state = 'parked';
-- UndeliveredListStore, OrderListStore: the same of an app. The condition is ParkedReasons.isParked and not that of orders_waiting,
-- or the planner would take that one, and read other apps' orders.
CREATE INDEX orders_parked ON orders (app, environment, reason, created_at, transaction_id)
    WHERE state NOT IN ('granted', 'revoked');
-- The view daily_revenue: a day or a month of a large table.
CREATE INDEX orders_purchased_on ON orders (((purchase_date AT TIME ZONE 'UTC')::date))
    WHERE environment = 'production';
CREATE INDEX orders_refunded_on ON orders ((CASE WHEN revocation_type IS DISTINCT FROM 'FAMILY_REVOKE'
    THEN (revocation_date AT TIME ZONE 'UTC')::date END))
    WHERE environment = 'production' AND (CASE WHEN revocation_type IS DISTINCT FROM 'FAMILY_REVOKE'
        THEN (revocation_date AT TIME ZONE 'UTC')::date END) IS NOT NULL;

-- Every transaction id that Apple gave a purchase, unique in its environment. No foreign key, whose check would look up
-- a row for every purchase: the ids are written in one statement with their order. Written by OrderStore.
CREATE TABLE order_transactions (
    environment          text NOT NULL,
    transaction_id       text NOT NULL,
    order_transaction_id text NOT NULL,
    submission_id        text NOT NULL,        -- which submission told of this id first
    statement            jsonb,                -- what Apple signed under this id; null where the order has one id
    created_at           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (environment, transaction_id)
);
-- OrderStore.statements. Nearly all orders have one id; the others are looked for by their order.
CREATE INDEX order_transactions_further ON order_transactions (environment, order_transaction_id)
    WHERE transaction_id <> order_transaction_id;

-- Signed data that contradicts what is known: one line item under two original ids, ids that reach two orders. Nothing
-- was granted by it; a person looks, and sets resolved_at. Written by OrderStore.
CREATE TABLE purchase_conflicts (
    id                   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment          text NOT NULL,
    app                  text NOT NULL,
    transaction_id       text NOT NULL,        -- of the signed data
    order_transaction_id text NOT NULL,        -- the order that it contradicts
    cause                text NOT NULL,
    submission_id        text NOT NULL,
    created_at           timestamptz NOT NULL DEFAULT now(),
    resolved_at          timestamptz,
    CONSTRAINT purchase_conflicts_cause_is_known
        CHECK (cause IN ('line_item_of_another', 'two_line_items', 'two_orders', 'original_differs', 'two_owners', 'type_differs')),
    CONSTRAINT purchase_conflicts_once UNIQUE (environment, transaction_id, order_transaction_id, cause)
);

-- Words in Apple's enumerated fields, and names of its fields, that are not the usual ones: a row for each, whoever has it.
-- Written by UnknownValueStore.
CREATE TABLE unknown_values (
    app            text NOT NULL,
    field          text NOT NULL,              -- Apple's name of it; where the name itself is new, with 'transaction.' or the like before it
    value          text NOT NULL,              -- empty where the name itself is new: a value may be anybody's
    is_named       boolean NOT NULL,           -- whether the version that noted it knows the word by name, and a policy decides
    effect         text NOT NULL,              -- holds, revokes, noted
    environment    text NOT NULL,              -- of the first transaction that had it
    transaction_id text NOT NULL,              -- or the UUID of a notification that is about none
    first_seen_at  timestamptz NOT NULL DEFAULT now(),
    last_seen_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, field, value)
);

-- Since when a guardian's consent to a child's use of the app is withdrawn (RESCIND_CONSENT): a row for each name that Apple's
-- data gives the customer. Written by ConsentStore.
CREATE TABLE rescinded_consents (
    environment text NOT NULL,
    app         text NOT NULL,
    customer    text NOT NULL,                 -- 'a:' and an appTransactionId, or 't:' and the own original id of a lineage
    signed_date timestamptz NOT NULL,          -- the newest
    PRIMARY KEY (environment, app, customer)
);

-- What an account may use, until when, and because of which order. One that was taken back stays, and is none. Written
-- by EntitlementStore.
CREATE TABLE entitlements (
    environment     text NOT NULL,
    app             text NOT NULL,
    account         text NOT NULL,
    entitlement     text NOT NULL,
    transaction_id  text NOT NULL,
    granted_at      timestamptz NOT NULL DEFAULT now(),
    expires_at      timestamptz,
    end_told_at     timestamptz,               -- when its end by the clock was told
    revoked_at      timestamptz,
    revoked_because text,                      -- family_copy: a receipt does not say that it is a family member's; Apple did later
    audit_id        bigint REFERENCES audit_log, -- who gave it by hand, and until when; null where an order gave it
    PRIMARY KEY (account, app, environment, entitlement, transaction_id),
    -- What is given by hand has no order; each of it has an end of its own.
    CONSTRAINT entitlements_by_hand_have_no_order
        CHECK ((audit_id IS NULL) = (transaction_id <> 'by-hand:' || entitlement)),
    CONSTRAINT entitlements_revoked_have_cause CHECK ((revoked_at IS NULL) = (revoked_because IS NULL)),
    CONSTRAINT entitlements_cause_is_known
        CHECK (revoked_because IN ('refund', 'family_revoke', 'family_copy', 'consent_rescinded', 'upgraded'))
);
-- EntitlementStore: revoke, restore, endPeriods, move.
CREATE INDEX entitlements_order ON entitlements (environment, transaction_id);
-- EntitlementStore.takeEnded.
CREATE INDEX entitlements_ending ON entitlements (expires_at)
    WHERE expires_at IS NOT NULL AND end_told_at IS NULL AND revoked_at IS NULL;

------------------------------------------------------------------------------------------------------------------------
-- Ownership
------------------------------------------------------------------------------------------------------------------------

-- Whose a lineage is: everything that has one original transaction id and is not used up. Consumables have none; their
-- order says whose they are. This row is locked before any order of the lineage. Written by LineageStore.
CREATE TABLE lineages (
    environment             text NOT NULL,
    original_transaction_id text NOT NULL,
    app                     text NOT NULL,
    account                 text,              -- null while nobody's
    cause                   text,              -- how it came to that account
    token                   uuid,              -- the appAccountToken by which it was bound last
    token_purchase_date     timestamptz,       -- of the transaction with that token; a later purchase counts more
    token_signed_date       timestamptz,
    tokens_void_until       timestamptz,       -- tokens of a forgotten account say nothing of purchases until then, nor of their
                                               -- renewals
    bound_at                timestamptz,
    bound_signed_date       timestamptz,       -- when Apple signed what bound it: a transfer needs a proof that was signed later
    open_since              timestamptz,       -- periods bought from then on wait for whoever paid them
    claimed_purchase_date   timestamptz,       -- of the newest period of which the owner showed evidence
    PRIMARY KEY (environment, original_transaction_id),
    CONSTRAINT lineages_cause_is_known CHECK (cause IN ('token', 'possession', 'purchase', 'transfer', 'operator')),
    CONSTRAINT lineages_bound_have_cause CHECK ((account IS NULL) = (cause IS NULL))
);

-- A lineage may have several original transaction ids: Apple gave lapsed subscribers new ones in February 2025, and took them
-- back in March; a subscription that takes another's place names the other's. Every table has the lineage's own id, which
-- never changes; here stand the others, each leading to it. Written by LineageStore.
CREATE TABLE lineage_members (
    environment             text NOT NULL,
    original_transaction_id text NOT NULL,     -- as Apple writes it
    lineage_id              text NOT NULL,     -- the lineage's own original id
    app                     text NOT NULL,
    cause                   text NOT NULL,     -- what told of it
    transaction_id          text NOT NULL,     -- which signed transaction did
    submission_id           text NOT NULL,     -- and what brought that
    created_at              timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (environment, original_transaction_id),
    CONSTRAINT lineage_members_are_others CHECK (original_transaction_id <> lineage_id),
    CONSTRAINT lineage_members_cause_is_known CHECK (cause IN ('transaction', 'previous_original'))
);
-- Whoever asks for all original ids of a lineage.
CREATE INDEX lineage_members_lineage ON lineage_members (environment, lineage_id);

-- Further accounts that may use a lineage, by the restore policy `share`. Written by EntitlementStore.
CREATE TABLE lineage_shares (
    environment             text NOT NULL,
    original_transaction_id text NOT NULL,
    app                     text NOT NULL,
    account                 text NOT NULL,
    created_at              timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (environment, original_transaction_id, account)
);
-- AccountStore.account: what is shared with it.
CREATE INDEX lineage_shares_account ON lineage_shares (account, app, environment);

-- Who claimed a lineage by which proof. A claim is heard once for a lineage, an account, a transaction and the date of
-- signing: one signed text can be spelled in many ways, each a submission of its own. Written by LineageHistoryStore.
CREATE TABLE lineage_claims (
    environment             text NOT NULL,
    original_transaction_id text NOT NULL,
    account                 text NOT NULL,
    transaction_id          text NOT NULL,
    signed_date             timestamptz NOT NULL,
    submission_id           text NOT NULL,     -- that was heard first
    refused                 text,              -- why it got nothing; it may be heard again then
    created_at              timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (environment, original_transaction_id, account, transaction_id, signed_date)
);

-- Every binding that ever was; append-only, but for names. Written by LineageStore.
CREATE TABLE binding_history (
    id                      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment             text NOT NULL,
    original_transaction_id text NOT NULL,
    app                     text NOT NULL,
    from_account            text,              -- null for the first
    to_account              text NOT NULL,
    cause                   text NOT NULL,
    policy                  text,              -- the restore policy, where one decided
    submission_id           text,
    audit_id                bigint REFERENCES audit_log (id),
    created_at              timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT binding_history_cause_is_known
        CHECK (cause IN ('token', 'possession', 'purchase', 'transfer', 'share', 'operator'))
);
-- A submission moves a lineage once.
CREATE UNIQUE INDEX binding_history_once_per_submission
    ON binding_history (environment, original_transaction_id, submission_id) WHERE cause IN ('transfer', 'share');
-- LineageStore.make, OwnershipStore, OrderReadingStore.bindings.
CREATE INDEX binding_history_lineage ON binding_history (environment, original_transaction_id);
CREATE TRIGGER binding_history_append_only BEFORE DELETE ON binding_history
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER binding_history_unchanged BEFORE UPDATE ON binding_history
    FOR EACH ROW EXECUTE FUNCTION refuse_other_change('from_account', 'to_account', 'submission_id');

-- An operator's word whose a parked order is; fulfillment takes it up, and clears due_at. Written by
-- OperatorClaimStore.
CREATE TABLE operator_claims (
    audit_id       bigint PRIMARY KEY REFERENCES audit_log (id),
    environment    text NOT NULL,
    transaction_id text NOT NULL,
    account        text NOT NULL,
    due_at         timestamptz DEFAULT now(),
    created_at     timestamptz NOT NULL DEFAULT now()
);
-- OperatorClaimStore.due.
CREATE INDEX operator_claims_due ON operator_claims (due_at) WHERE due_at IS NOT NULL;
-- OperatorClaimStore.claim, OrderReadingStore.claims.
CREATE INDEX operator_claims_order ON operator_claims (environment, transaction_id);

-- Which account an appAccountToken means. Written by AccountTokenStore.
CREATE TABLE account_tokens (
    app        text NOT NULL,
    token      uuid NOT NULL,
    account    text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, token)
);
-- AccountTokenStore.tokens, page, AccountExport, ForgettingStore.
CREATE INDEX account_tokens_account ON account_tokens (account, app, created_at, token);

-- "This account is about to buy this product." The id is the appAccountToken that the app sets; it stands in
-- account_tokens, too. Written by IntentStore.
CREATE TABLE purchase_intents (
    id         uuid PRIMARY KEY,
    app        text NOT NULL,
    account    text NOT NULL,
    product_id text NOT NULL,
    reference  text,                           -- the app's own order number; Apple never sees it
    created_at timestamptz NOT NULL DEFAULT now()
);
-- IdentifierStore: support looks for it.
CREATE INDEX purchase_intents_reference ON purchase_intents (reference) WHERE reference IS NOT NULL;
-- IntentStore.open: how many in a day.
CREATE INDEX purchase_intents_account ON purchase_intents (account, app, created_at);
-- SweepTaskStore.plan: they are looked for by when they were opened, in the order of the table.
CREATE INDEX purchase_intents_opened ON purchase_intents USING brin (created_at);

-- Tokens whose orders may be released: asked for by whoever registers a token (the trigger below) and by whoever parks
-- an order for it, so that nobody looks again and again at orders that nothing has happened to. Fulfillment removes
-- what it has looked at. Written by ReleaseRequestStore.
CREATE TABLE release_requests (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app            text NOT NULL,
    token          uuid NOT NULL,
    due_at         timestamptz NOT NULL DEFAULT now(),
    environment    text,                       -- with the next one: the last of its orders that was looked at
    transaction_id text
);
-- ReleaseRequestStore.take.
CREATE INDEX release_requests_due ON release_requests (due_at);

-- With the owner's rights, so that intake need not have any to release_requests. The token of an intent is new to the
-- world: nobody can have bought with it yet.
CREATE FUNCTION request_release() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('INSERT INTO %I.release_requests (app, token) SELECT $1, $2'
        ' WHERE NOT EXISTS (SELECT FROM %I.purchase_intents WHERE id = $2)', TG_TABLE_SCHEMA, TG_TABLE_SCHEMA)
        USING NEW.app, NEW.token;
    RETURN NULL;
END $$;
CREATE TRIGGER account_tokens_request_release AFTER INSERT ON account_tokens
    FOR EACH ROW EXECUTE FUNCTION request_release();

------------------------------------------------------------------------------------------------------------------------
-- Ledger
------------------------------------------------------------------------------------------------------------------------

-- What players spend out of a wallet that Countersign holds; one row a request. Append-only, but for names. Written by
-- SpendStore.
CREATE TABLE spends (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment     text NOT NULL,
    app             text NOT NULL,
    account         text NOT NULL,
    idempotency_key text NOT NULL,
    request_sha256  text NOT NULL,             -- the same key with another request is refused
    reference       text,                      -- the studio's own word for what was bought
    answer          jsonb NOT NULL,            -- told again to whoever repeats the request
    created_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT spends_once_per_key UNIQUE (account, app, environment, idempotency_key)
);
CREATE TRIGGER spends_append_only BEFORE DELETE ON spends FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER spends_unchanged BEFORE UPDATE ON spends
    FOR EACH ROW EXECUTE FUNCTION refuse_other_change('account', 'idempotency_key', 'request_sha256', 'reference');

-- What purchases, refunds, spending and operators move. Every line moves an amount between a book of the studio's
-- (issued, spent) and what the account holds: two sides in one row, so that they cannot differ. A positive amount goes
-- to the account. `correction` takes back what a family member's copy brought. Append-only, but for names. Written by
-- LedgerStore.
CREATE TABLE ledger_entries (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment    text NOT NULL,
    transaction_id text,
    spend_id       bigint REFERENCES spends (id),
    audit_id       bigint REFERENCES audit_log (id),
    kind           text NOT NULL,
    sequence       integer NOT NULL,           -- 1, 2, … for the items of one grant
    book           text NOT NULL DEFAULT 'issued',
    app            text NOT NULL,
    account        text NOT NULL,
    item           text NOT NULL,
    amount         bigint NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    -- Nothing is granted twice.
    CONSTRAINT ledger_entries_once_per_order UNIQUE (environment, transaction_id, kind, sequence),
    CONSTRAINT ledger_entries_have_an_order FOREIGN KEY (environment, transaction_id)
        REFERENCES orders (environment, transaction_id),
    CONSTRAINT ledger_entries_have_one_cause CHECK (
        CASE kind WHEN 'spend' THEN spend_id WHEN 'adjustment' THEN audit_id ELSE 0 END IS NOT NULL
        AND num_nonnulls(transaction_id, spend_id, audit_id) = 1),
    CONSTRAINT ledger_entries_kind_is_known
        CHECK (kind IN ('grant', 'revocation', 'reversal', 'spend', 'adjustment', 'correction')),
    CONSTRAINT ledger_entries_book_is_known CHECK (book = CASE kind WHEN 'spend' THEN 'spent' ELSE 'issued' END),
    CONSTRAINT ledger_entries_amount_is_not_zero CHECK (amount <> 0),
    CONSTRAINT ledger_entries_sign_fits CHECK (
        CASE kind WHEN 'grant' THEN amount > 0 WHEN 'reversal' THEN amount > 0 WHEN 'adjustment' THEN true
            ELSE amount < 0 END)
);
CREATE UNIQUE INDEX ledger_entries_once_per_spend ON ledger_entries (spend_id, sequence) WHERE spend_id IS NOT NULL;
CREATE UNIQUE INDEX ledger_entries_once_per_audit ON ledger_entries (audit_id, sequence) WHERE audit_id IS NOT NULL;
-- LedgerReading: what an account was given and lost, the newest first.
CREATE INDEX ledger_entries_account ON ledger_entries (account, app, environment, id);
CREATE TRIGGER ledger_entries_append_only BEFORE DELETE ON ledger_entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_entries_unchanged BEFORE UPDATE ON ledger_entries
    FOR EACH ROW EXECUTE FUNCTION refuse_other_change('account');

-- An account's total of one item, changed in the transaction that writes the ledger. Written by LedgerStore.
CREATE TABLE balances (
    environment text NOT NULL,
    app         text NOT NULL,
    account     text NOT NULL,
    item        text NOT NULL,
    amount      bigint NOT NULL,
    PRIMARY KEY (account, app, environment, item)
);

------------------------------------------------------------------------------------------------------------------------
-- Subscriptions
------------------------------------------------------------------------------------------------------------------------

-- Where a subscription stands: worked out of its orders and its newest renewal statement, and of the clock. Written by
-- SubscriptionStore.
CREATE TABLE subscriptions (
    environment             text NOT NULL,
    original_transaction_id text NOT NULL,
    app                     text NOT NULL,
    account                 text,
    state                   text NOT NULL,
    product_id              text NOT NULL,
    transaction_id          text NOT NULL,     -- the order of the current period
    expires_date            timestamptz NOT NULL, -- by Apple
    access_until            timestamptz NOT NULL, -- the same, or the end of grace
    due_at                  timestamptz,       -- when the clock alone changes the state
    changed_at              timestamptz NOT NULL DEFAULT now(),
    standing                jsonb NOT NULL,    -- everything else, as events and answers tell it
    PRIMARY KEY (environment, original_transaction_id),
    CONSTRAINT subscriptions_state_is_known
        CHECK (state IN ('active', 'expired', 'billing_retry', 'grace_period', 'revoked'))
);
-- AccountStore.account.
CREATE INDEX subscriptions_account ON subscriptions (account, app, environment) WHERE account IS NOT NULL;
-- SubscriptionStore.claimDue.
CREATE INDEX subscriptions_due ON subscriptions (due_at) WHERE due_at IS NOT NULL;
-- SweepTaskStore.plan.
CREATE INDEX subscriptions_expiring ON subscriptions (expires_date);

-- The newest that Apple signed about a subscription's next renewal, whether or not the subscription is known yet. Empty
-- where nothing was signed: the row is what is locked while the subscription is worked out anew. Written by
-- RenewalStatementStore.
CREATE TABLE renewal_statements (
    environment             text NOT NULL,
    original_transaction_id text NOT NULL,
    signed_date             timestamptz,
    statement               jsonb,
    PRIMARY KEY (environment, original_transaction_id),
    CONSTRAINT renewal_statements_are_signed CHECK ((signed_date IS NULL) = (statement IS NULL))
);

------------------------------------------------------------------------------------------------------------------------
-- Events. Why they have a queue and positions beside their ids: decision 0025.
------------------------------------------------------------------------------------------------------------------------

-- What no event sorts before whose id was made at this time or later (EventIdentifier.eventFloor).
CREATE FUNCTION event_floor(at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT 'evt_' || lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0')
$$;

-- What happened; append-only, but for names. Divided by month, by the time within the id. An account's numbers are
-- distinct within a month by make_month's constraint, beyond it by the audit. Written by EventStore.
CREATE TABLE events (
    id             text PRIMARY KEY,
    type           text NOT NULL,
    environment    text NOT NULL,
    app            text NOT NULL,
    account        text,
    sequence       bigint,                     -- of the account
    transaction_id text,                       -- adjustments by hand have none
    partition_key  text NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    body           text NOT NULL,              -- the exact bytes that are sent and signed
    CONSTRAINT events_sequence_goes_with_account CHECK ((account IS NULL) = (sequence IS NULL))
) PARTITION BY RANGE (id);
-- OrderReadingStore, InspectionStore: an order's story.
CREATE INDEX events_transaction ON events (environment, transaction_id);
CREATE TABLE events_other PARTITION OF events DEFAULT;
ALTER TABLE events_other ADD CONSTRAINT events_other_sequence UNIQUE (account, app, environment, sequence);

-- The number of each account's newest event. Written by EventStore.
CREATE TABLE account_sequences (
    environment   text NOT NULL,
    app           text NOT NULL,
    account       text NOT NULL,
    last_sequence bigint NOT NULL,
    PRIMARY KEY (account, app, environment)
);

-- Events that the notification service does not have yet. Written by EventStore.
CREATE TABLE event_outbox (
    event_id   text PRIMARY KEY,               -- of a row of events
    due_at     timestamptz NOT NULL,           -- when it is sent again
    attempts   integer NOT NULL DEFAULT 0,
    queued_at  timestamptz NOT NULL DEFAULT now(), -- when it came in: due_at is put off again and again
    alarmed_at timestamptz,
    -- Until when a process posts it before its deliveries have rows. Once in its life; in no index, so that a claim touches none.
    claimed_until timestamptz
);
-- EventStore.claimDue.
CREATE INDEX event_outbox_due ON event_outbox (due_at);
-- EventStore.raiseAlarms, waiting.
CREATE INDEX event_outbox_waiting ON event_outbox (queued_at) WHERE alarmed_at IS NULL;
CREATE INDEX event_outbox_alarmed ON event_outbox (queued_at) WHERE alarmed_at IS NOT NULL;

-- Events that are committed and have no position yet: a row for each statement that wrote some, by the trigger below.
-- Written by EventPositionStore.
CREATE TABLE event_queue (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_ids text[] NOT NULL                  -- in the order in which they were written
);
-- With the owner's rights: no service but fulfillment touches the queue, whoever writes events.
CREATE FUNCTION queue_events() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO event_queue (event_ids) SELECT array_agg(event_id) FROM added HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE TRIGGER event_outbox_is_queued AFTER INSERT ON event_outbox REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION queue_events();

-- What a position is at a time: no position that was given then or later is smaller.
CREATE FUNCTION position_floor(at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT floor(extract(epoch FROM at) * 1000000)::bigint
$$;

-- One order of all events. A position is the microsecond in which it was given, at least one more than the one before,
-- so that it grows in a database that was restored from a backup, too. Divided by month. Written by EventPositionStore.
CREATE TABLE event_positions (
    position    bigint PRIMARY KEY,
    event_id    text NOT NULL,                 -- of events, which may have been dropped a moment before this
    app         text NOT NULL,
    environment text NOT NULL,
    account     text,                          -- as in events: a pseudonym once it is forgotten
    type        text NOT NULL
) PARTITION BY RANGE (position);
-- EventFeedStore.page of an account, ForgettingStore.
CREATE INDEX event_positions_account ON event_positions (account, app, position) WHERE account IS NOT NULL;
CREATE TABLE event_positions_other PARTITION OF event_positions DEFAULT;

-- How far the order has come; who gives positions holds the only row, so that nobody else does meanwhile. Written by
-- EventPositionStore.
CREATE TABLE event_numbering (
    is_only            boolean PRIMARY KEY DEFAULT true,
    last_position      bigint NOT NULL,
    -- How far the topic countersign.events has come.
    published_position bigint NOT NULL DEFAULT 0,
    CONSTRAINT event_numbering_is_one_row CHECK (is_only)
);
INSERT INTO event_numbering (last_position, published_position) VALUES (position_floor(now()), position_floor(now()));

------------------------------------------------------------------------------------------------------------------------
-- Webhooks
------------------------------------------------------------------------------------------------------------------------

-- Endpoints that the API and `countersign webhooks` make; those of the webhooks file are not here. A row stays when its
-- endpoint is removed, without its address, so that the id never means another. Written by StoredEndpointStore.
CREATE TABLE webhook_endpoint_settings (
    id             text PRIMARY KEY,
    url            text NOT NULL,
    description    text NOT NULL DEFAULT '',
    apps           text[] NOT NULL DEFAULT '{}', -- empty: of all apps. A server API key reaches endpoints of its app alone
    environments   text[] NOT NULL DEFAULT '{}', -- empty: of both
    events         text[] NOT NULL DEFAULT '{}', -- types of events, or beginnings and a *; empty: all
    schema_version text NOT NULL,              -- of the events, as its receiver was written for
    is_ordered     boolean NOT NULL DEFAULT false, -- whether an account's events are sent one after the other
    created_at     timestamptz NOT NULL DEFAULT now(),
    changed_at     timestamptz NOT NULL DEFAULT now(),
    removed_at     timestamptz,
    cleared_at     timestamptz,                -- when a look found that nothing waits for a removed endpoint any more
    CONSTRAINT webhook_endpoint_settings_id_is_ours CHECK (id LIKE 'we\_%'),
    CONSTRAINT webhook_endpoint_settings_environments_are_known CHECK (environments <@ ARRAY['production', 'sandbox'])
);

-- What signs webhooks to them: sealed by a key that no table has (COUNTERSIGN_WEBHOOKS_KEY). Written by
-- StoredEndpointStore.
CREATE TABLE webhook_endpoint_secrets (
    endpoint_id text NOT NULL REFERENCES webhook_endpoint_settings (id),
    id          text NOT NULL,
    scheme      text NOT NULL,
    sealed      text NOT NULL,
    public_key  text,
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz,                   -- since a newer one took its place; it signs until then
    PRIMARY KEY (endpoint_id, id),
    CONSTRAINT webhook_endpoint_secrets_scheme_is_known CHECK (scheme IN ('v1', 'v1a')),
    CONSTRAINT webhook_endpoint_secrets_public_key_is_of_v1a CHECK ((scheme = 'v1a') = (public_key IS NOT NULL))
);

-- The newest test message to each of them; the notification service sends it. Written by WebhookPingStore.
CREATE TABLE webhook_pings (
    endpoint_id  text PRIMARY KEY REFERENCES webhook_endpoint_settings (id),
    id           text NOT NULL,
    asked_at     timestamptz NOT NULL DEFAULT now(),
    due_at       timestamptz DEFAULT now(),    -- a lease; null once it was tried
    finished_at  timestamptz,
    status       integer,
    error        text,
    milliseconds bigint,
    CONSTRAINT webhook_pings_finished_are_not_due CHECK ((finished_at IS NULL) = (due_at IS NOT NULL))
);

-- How an endpoint of either kind fares: which are switched off, and when they took something of late. Written by
-- EndpointStore.
CREATE TABLE webhook_endpoints (
    id              text PRIMARY KEY,
    disabled_at     timestamptz,
    disabled_reason text,
    failing_since   timestamptz,
    succeeded_at    timestamptz,               -- a success of late: each is not noted
    is_holding      boolean NOT NULL DEFAULT false, -- was switched off; its deliveries are not brought back yet
    resumed_at      timestamptz                -- since when they are being brought back
);

-- Each endpoint's being sent each event. Divided by month, by the event's id. Written by DeliveryStore.
CREATE TABLE webhook_deliveries (
    event_id          text NOT NULL,
    endpoint_id       text NOT NULL,
    state             text NOT NULL DEFAULT 'pending',
    due_at            timestamptz,
    attempts          integer NOT NULL DEFAULT 0,
    attempts_forgiven integer NOT NULL DEFAULT 0, -- attempts that the schedule does not count any more
    failed_at         timestamptz,             -- when the attempt before failed; null as a schedule begins
    last_status       integer,
    last_error        text,
    created_at        timestamptz NOT NULL DEFAULT now(),
    delivered_at      timestamptz,
    PRIMARY KEY (event_id, endpoint_id),
    CONSTRAINT webhook_deliveries_state_is_known CHECK (state IN ('pending', 'delivered', 'abandoned')),
    CONSTRAINT webhook_deliveries_pending_are_due CHECK ((state = 'pending') = (due_at IS NOT NULL))
) PARTITION BY RANGE (event_id);
-- DeliveryStore: claimDue, untilDue, resume.
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, due_at) WHERE due_at IS NOT NULL;
-- WebhookResendStore.page.
CREATE INDEX webhook_deliveries_abandoned ON webhook_deliveries (event_id, endpoint_id) WHERE state = 'abandoned';
CREATE TABLE webhook_deliveries_other PARTITION OF webhook_deliveries DEFAULT;

-- An attempt: when it began, what the endpoint said, or why it said nothing. Divided by month. Written by
-- DeliveryStore.
CREATE TABLE webhook_attempts (
    event_id     text NOT NULL,
    endpoint_id  text NOT NULL,
    attempt      integer NOT NULL,             -- from 1, as webhook_deliveries counts them
    attempted_at timestamptz NOT NULL,         -- when it began, by the clock of the process that made it
    duration_ms  integer NOT NULL,
    status       integer,                      -- of HTTP; null where there was no answer
    error        text,                         -- why there was none
    answer       text,                         -- the beginning of the answer, at most 2 kB, without control characters
    PRIMARY KEY (event_id, endpoint_id, attempt, attempted_at)
) PARTITION BY RANGE (attempted_at);
CREATE TABLE webhook_attempts_other PARTITION OF webhook_attempts DEFAULT;

-- Whose turn it is: the pending deliveries of endpoints that take an account's events in their order. The first of a
-- lane is sent, the others wait with a due_at that never comes (DeliveryStore.behind), and whoever records the first
-- lets the next one go. Written by DeliveryStore.
CREATE TABLE webhook_turns (
    endpoint_id text NOT NULL,
    lane        bytea NOT NULL,                -- which account, app and environment: the beginning of a hash, so that no name is here
    sequence    bigint NOT NULL,               -- the event's number
    event_id    text NOT NULL,
    PRIMARY KEY (endpoint_id, lane, sequence, event_id)
);
-- The turn of a delivery.
CREATE UNIQUE INDEX webhook_turns_event ON webhook_turns (event_id, endpoint_id);

-- What somebody asked to be sent again; the notification service takes it up, and is the only one that changes
-- deliveries. Written by WebhookResendStore.
CREATE TABLE webhook_resends (
    endpoint_id text NOT NULL,
    event_id    text NOT NULL,
    state       text NOT NULL,                 -- the delivery's when it was asked for; one that has another by now is left alone
    asked_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (endpoint_id, event_id)
);

-- What waits for an endpoint that is removed goes to nobody: it is taken away, and holds no month back. So is what was
-- given up, which would stand among purchases that are untold, and nobody could tell it. With the owner's rights, since
-- no service may remove a delivery; of endpoints that are there it removes nothing.
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

------------------------------------------------------------------------------------------------------------------------
-- Money. Amounts are whole milliunits of a currency, rates whole parts per million, days are UTC. Decision 0011 says
-- what these estimates cannot know. Rows are only added: one for the same day as an older one takes its place.
------------------------------------------------------------------------------------------------------------------------

-- What Apple keeps. A storefront's own rows rule there from their first day on, the rows without one everywhere else.
-- Written by RateStore.
CREATE TABLE commission_rates (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    program    text NOT NULL,
    storefront text,                     -- ISO 3166-1 alpha-3, as Apple writes it; null: everywhere else
    kind       text NOT NULL,
    valid_from date NOT NULL,
    rate_ppm   integer NOT NULL,
    audit_id   bigint REFERENCES audit_log (id), -- null for what came with Countersign
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT commission_rates_program_is_known CHECK (program IN ('standard', 'small_business')),
    CONSTRAINT commission_rates_storefront_is_a_country CHECK (storefront ~ '^[A-Z]{3}$'),
    CONSTRAINT commission_rates_kind_is_known
        CHECK (kind IN ('one_time', 'subscription_first_year', 'subscription_later')),
    CONSTRAINT commission_rates_rate_is_a_share CHECK (rate_ppm BETWEEN 0 AND 1000000)
);
CREATE TRIGGER commission_rates_append_only BEFORE UPDATE OR DELETE ON commission_rates
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Since when an app takes part in which of Apple's programs; standard where nothing is said. Written by RateStore.
CREATE TABLE app_commission_programs (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app        text NOT NULL,
    program    text NOT NULL,
    valid_from date NOT NULL,
    audit_id   bigint REFERENCES audit_log (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT app_commission_programs_program_is_known CHECK (program IN ('standard', 'small_business'))
);
-- The view order_proceeds; so the next one.
CREATE INDEX app_commission_programs_app ON app_commission_programs (app, valid_from DESC, id DESC);
CREATE TRIGGER app_commission_programs_append_only BEFORE UPDATE OR DELETE ON app_commission_programs
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The customer's tax of a storefront. Where Apple collects and remits it, the price includes it; elsewhere none of the
-- price is tax. Of a storefront without a row nothing is known. Written by RateStore.
CREATE TABLE tax_rates (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    storefront  text NOT NULL,
    valid_from  date NOT NULL,
    rate_ppm    integer NOT NULL,
    is_included boolean NOT NULL,
    audit_id    bigint REFERENCES audit_log (id),
    created_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT tax_rates_storefront_is_a_country CHECK (storefront ~ '^[A-Z]{3}$'),
    CONSTRAINT tax_rates_rate_is_a_share CHECK (rate_ppm BETWEEN 0 AND 1000000)
);
CREATE INDEX tax_rates_storefront ON tax_rates (storefront, valid_from DESC, id DESC);
CREATE TRIGGER tax_rates_append_only BEFORE UPDATE OR DELETE ON tax_rates
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Seed rows. 30 %, 15 % after a subscriber's first year and in the small business program (begun 2021-01-01); the first
-- day stands for "ever since". China from 2026-03-15: Apple's notice to developers of 2026-03-13, as the press told it.
INSERT INTO commission_rates (program, storefront, kind, valid_from, rate_ppm) VALUES
    ('standard',       NULL,  'one_time',                '1970-01-01', 300000),
    ('standard',       NULL,  'subscription_first_year', '1970-01-01', 300000),
    ('standard',       NULL,  'subscription_later',      '1970-01-01', 150000),
    ('small_business', NULL,  'one_time',                '1970-01-01', 150000),
    ('small_business', NULL,  'subscription_first_year', '1970-01-01', 150000),
    ('small_business', NULL,  'subscription_later',      '1970-01-01', 150000),
    ('standard',       'CHN', 'one_time',                '2026-03-15', 250000),
    ('standard',       'CHN', 'subscription_first_year', '2026-03-15', 250000),
    ('standard',       'CHN', 'subscription_later',      '2026-03-15', 120000),
    ('small_business', 'CHN', 'one_time',                '2026-03-15', 120000),
    ('small_business', 'CHN', 'subscription_first_year', '2026-03-15', 120000),
    ('small_business', 'CHN', 'subscription_later',      '2026-03-15', 120000);

-- Only what Apple itself announced, from the day of the announcement; every other storefront is the studio's to say
-- (`countersign rates set tax`). Digital services taxes and taxes of the studio's own seat are none of the customer's.
INSERT INTO tax_rates (storefront, valid_from, rate_ppm, is_included) VALUES
    -- Apple to developers, told by macrumors.com/2020/09/01/apple-raising-app-store-prices-tax-changes
    ('CHL', '2020-09-01', 190000, true),
    ('MEX', '2020-09-01', 160000, true),
    ('SAU', '2020-09-01', 150000, true),
    ('GBR', '2020-09-01', 200000, true),
    ('ITA', '2020-09-01', 220000, true),
    -- Apple to developers, told by appleinsider.com on 2022-01-13
    ('BHR', '2022-01-13', 100000, true),
    ('UKR', '2022-01-13', 200000, true),
    -- Apple to developers, "Tax and price updates", from 2025-08-21
    ('EST', '2025-08-21', 240000, true),
    ('ROU', '2025-08-21', 210000, true);

-- The share part/whole of an amount of 0 or more, rounded to the nearest whole, a half upwards. Amounts of which the
-- product could leave 64 bits (part up to a million, whole up to two) are computed exactly all the same, slower.
CREATE FUNCTION share_of(amount bigint, part bigint, whole bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN amount <= 4000000000000 THEN (2 * amount * part + whole) / (2 * whole)
        ELSE div(2 * amount::numeric * part + whole, 2 * whole)::bigint
    END
$$;

-- What production sold, order by order. Family members paid nothing, test purchases neither.
CREATE VIEW sales AS
SELECT
    transaction_id, app, account, product_id, storefront, currency, state, purchase_date,
    (purchase_date AT TIME ZONE 'UTC')::date AS purchased_on,
    -- A family member's loss is no refund, even if Apple were to say it of a purchase.
    CASE WHEN revocation_type IS DISTINCT FROM 'FAMILY_REVOKE'
        THEN (revocation_date AT TIME ZONE 'UTC')::date END AS refunded_on,
    CASE
        WHEN product_type <> 'auto_renewable' THEN 'one_time'
        -- An estimate: Apple counts days of paid service, with gaps of up to 60 days left out.
        WHEN (original_purchase_date AT TIME ZONE 'UTC') + interval '1 year'
            <= (purchase_date AT TIME ZONE 'UTC') THEN 'subscription_later'
        ELSE 'subscription_first_year'
    END AS kind,
    -- Of the whole transaction, whatever its quantity: developer.apple.com/documentation/appstoreserverapi/price.
    CASE WHEN price_milliunits >= 0 AND currency IS NOT NULL THEN price_milliunits END AS gross,
    -- Thousandths of a per cent; what Apple does not say is all of it.
    CASE WHEN revocation_date IS NOT NULL AND revocation_type IS DISTINCT FROM 'FAMILY_REVOKE'
        THEN least(greatest(coalesce(revocation_percentage, 100000), 0), 100000) ELSE 0 END AS refunded_share
FROM orders
-- Data that does not state the ownership (old receipts) states no price either.
WHERE environment = 'production' AND test_purchase IS NULL AND coalesce(ownership, 'PURCHASED') = 'PURCHASED';

-- What each of these brought, as estimated.
CREATE VIEW order_proceeds AS
SELECT
    sold.transaction_id, sold.app, sold.account, sold.product_id, sold.storefront, sold.currency, sold.state,
    sold.purchase_date, sold.purchased_on, sold.refunded_on, sold.kind, applied.program,
    applied.commission_ppm, applied.tax_ppm, applied.tax_known,
    sold.gross, taxed.tax, kept.commission, sold.gross - taxed.tax - kept.commission AS estimated_proceeds,
    true AS is_estimate,
    sold.refunded_share, back.refunded, back_taxed.tax AS refunded_tax, back_kept.commission AS refunded_commission,
    back.refunded - back_taxed.tax - back_kept.commission AS refunded_proceeds
FROM sales sold
LEFT JOIN LATERAL (
    SELECT program FROM app_commission_programs own
    WHERE own.app = sold.app AND own.valid_from <= sold.purchased_on
    ORDER BY valid_from DESC, id DESC LIMIT 1
) own ON true
LEFT JOIN LATERAL (
    SELECT rate_ppm FROM commission_rates rate
    WHERE rate.program = coalesce(own.program, 'standard') AND rate.kind = sold.kind
        AND (rate.storefront = sold.storefront OR rate.storefront IS NULL) AND rate.valid_from <= sold.purchased_on
    ORDER BY rate.storefront IS NULL, valid_from DESC, id DESC LIMIT 1
) rate ON true
LEFT JOIN LATERAL (
    SELECT rate_ppm, is_included FROM tax_rates rate
    WHERE rate.storefront = sold.storefront AND rate.valid_from <= sold.purchased_on
    ORDER BY valid_from DESC, id DESC LIMIT 1
) tax ON true
-- Each step once: OFFSET 0 keeps the planner from repeating it wherever its result is used.
CROSS JOIN LATERAL (
    SELECT coalesce(own.program, 'standard') AS program, coalesce(rate.rate_ppm, 0) AS commission_ppm,
        CASE WHEN tax.is_included THEN tax.rate_ppm ELSE 0 END AS tax_ppm, tax.rate_ppm IS NOT NULL AS tax_known,
        share_of(sold.gross, sold.refunded_share, 100000) AS refunded OFFSET 0
) applied
CROSS JOIN LATERAL (
    SELECT share_of(sold.gross, applied.tax_ppm, 1000000 + applied.tax_ppm) AS tax OFFSET 0
) taxed
CROSS JOIN LATERAL (
    SELECT sold.gross - taxed.tax AS net OFFSET 0
) remaining
CROSS JOIN LATERAL (
    SELECT share_of(remaining.net, applied.commission_ppm, 1000000) AS commission OFFSET 0
) kept
-- The refunded part by the same rule: no part of it can then be more than what it was taken from.
CROSS JOIN LATERAL (SELECT applied.refunded OFFSET 0) back
CROSS JOIN LATERAL (
    SELECT share_of(back.refunded, applied.tax_ppm, 1000000 + applied.tax_ppm) AS tax OFFSET 0
) back_taxed
CROSS JOIN LATERAL (
    SELECT back.refunded - back_taxed.tax AS net OFFSET 0
) back_remaining
CROSS JOIN LATERAL (
    SELECT share_of(back_remaining.net, applied.commission_ppm, 1000000) AS commission OFFSET 0
) back_kept;

-- The same, once for all sales that are alike: what remains of them is worked out once, and there are many more sales than prices.
CREATE VIEW alike_proceeds AS
SELECT
    sold.app, sold.product_id, sold.storefront, sold.currency, sold.purchased_on, sold.refunded_on, sold.alike, applied.tax_known,
    sold.gross, taxed.tax, kept.commission, sold.gross - taxed.tax - kept.commission AS estimated_proceeds,
    back.refunded, back_taxed.tax AS refunded_tax, back_kept.commission AS refunded_commission,
    back.refunded - back_taxed.tax - back_kept.commission AS refunded_proceeds
FROM (
    SELECT app, product_id, storefront, currency, purchased_on, refunded_on, kind, gross, refunded_share, count(*) AS alike
    FROM sales GROUP BY app, product_id, storefront, currency, purchased_on, refunded_on, kind, gross, refunded_share
) sold
LEFT JOIN LATERAL (
    SELECT program FROM app_commission_programs own
    WHERE own.app = sold.app AND own.valid_from <= sold.purchased_on
    ORDER BY valid_from DESC, id DESC LIMIT 1
) own ON true
LEFT JOIN LATERAL (
    SELECT rate_ppm FROM commission_rates rate
    WHERE rate.program = coalesce(own.program, 'standard') AND rate.kind = sold.kind
        AND (rate.storefront = sold.storefront OR rate.storefront IS NULL) AND rate.valid_from <= sold.purchased_on
    ORDER BY rate.storefront IS NULL, valid_from DESC, id DESC LIMIT 1
) rate ON true
LEFT JOIN LATERAL (
    SELECT rate_ppm, is_included FROM tax_rates rate
    WHERE rate.storefront = sold.storefront AND rate.valid_from <= sold.purchased_on
    ORDER BY valid_from DESC, id DESC LIMIT 1
) tax ON true
-- Each step once: OFFSET 0 keeps the planner from repeating it wherever its result is used.
CROSS JOIN LATERAL (
    SELECT coalesce(own.program, 'standard') AS program, coalesce(rate.rate_ppm, 0) AS commission_ppm,
        CASE WHEN tax.is_included THEN tax.rate_ppm ELSE 0 END AS tax_ppm, tax.rate_ppm IS NOT NULL AS tax_known,
        share_of(sold.gross, sold.refunded_share, 100000) AS refunded OFFSET 0
) applied
CROSS JOIN LATERAL (
    SELECT share_of(sold.gross, applied.tax_ppm, 1000000 + applied.tax_ppm) AS tax OFFSET 0
) taxed
CROSS JOIN LATERAL (
    SELECT sold.gross - taxed.tax AS net OFFSET 0
) remaining
CROSS JOIN LATERAL (
    SELECT share_of(remaining.net, applied.commission_ppm, 1000000) AS commission OFFSET 0
) kept
-- The refunded part by the same rule: no part of it can then be more than what it was taken from.
CROSS JOIN LATERAL (SELECT applied.refunded OFFSET 0) back
CROSS JOIN LATERAL (
    SELECT share_of(back.refunded, applied.tax_ppm, 1000000 + applied.tax_ppm) AS tax OFFSET 0
) back_taxed
CROSS JOIN LATERAL (
    SELECT back.refunded - back_taxed.tax AS net OFFSET 0
) back_remaining
CROSS JOIN LATERAL (
    SELECT share_of(back_remaining.net, applied.commission_ppm, 1000000) AS commission OFFSET 0
) back_kept;

-- Purchases on the day of the purchase, refunds as negatives on the day of the refund:
-- gross + refunded = tax + commission + estimated_proceeds, in every row and every sum of one currency.
CREATE VIEW daily_revenue AS
SELECT
    day, app, storefront, currency, product_id,
    sum(orders)::bigint AS orders, sum(refunds)::bigint AS refunds, sum(unpriced_orders)::bigint AS unpriced_orders,
    sum(tax_unknown_orders)::bigint AS tax_unknown_orders,
    coalesce(sum(gross), 0) AS gross, coalesce(sum(refunded), 0) AS refunded, coalesce(sum(tax), 0) AS tax,
    coalesce(sum(commission), 0) AS commission, coalesce(sum(estimated_proceeds), 0) AS estimated_proceeds
FROM (
    SELECT
        purchased_on AS day, app, storefront, currency, product_id, alike AS orders, 0 AS refunds,
        (gross IS NULL)::int * alike AS unpriced_orders,
        coalesce(gross > 0 AND NOT tax_known, false)::int * alike AS tax_unknown_orders,
        gross::numeric * alike AS gross, 0::numeric AS refunded, tax::numeric * alike AS tax,
        commission::numeric * alike AS commission, estimated_proceeds::numeric * alike AS estimated_proceeds
    FROM alike_proceeds
    UNION ALL
    SELECT
        refunded_on, app, storefront, currency, product_id, 0, alike, 0, 0,
        0::numeric, -refunded::numeric * alike, -refunded_tax::numeric * alike, -refunded_commission::numeric * alike,
        -refunded_proceeds::numeric * alike
    FROM alike_proceeds
    WHERE refunded_on IS NOT NULL
) entries
GROUP BY day, app, storefront, currency, product_id;

------------------------------------------------------------------------------------------------------------------------
-- Operations
------------------------------------------------------------------------------------------------------------------------

-- Every catalogue that was ever in use, numbered, so that an order says by which one it was granted. Written by
-- CatalogueStore.
CREATE TABLE catalogues (
    version   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sha256    text NOT NULL,
    content   text NOT NULL,                   -- the file as it was read
    loaded_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT catalogues_are_distinct UNIQUE (sha256)
);
CREATE TRIGGER catalogues_append_only BEFORE UPDATE OR DELETE ON catalogues
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Certificates of the App Store's that a responder has said are revoked. A worker learns it, all know it, also after a
-- restart and when the responder does not answer. A row is taken out by hand only. Written by RevokedCertificateStore.
CREATE TABLE revoked_certificates (
    sha256      bytea PRIMARY KEY CHECK (octet_length(sha256) = 32), -- of the certificate
    certificate bytea NOT NULL,                -- DER
    revoked_at  timestamptz NOT NULL,          -- by the responder
    reason      integer,                       -- a number of RFC 5280, section 5.3.1; null where it does not say
    answer      bytea NOT NULL,                -- the OCSP response that says so, DER
    learnt_at   timestamptz NOT NULL DEFAULT now()
);

-- Paid, or perhaps paid, and not delivered: what an operator wants to be empty. `countersign undelivered` prints it.
CREATE VIEW undelivered_purchases AS
SELECT 'parked' AS stage, o.environment, o.app, o.reason, o.created_at AS since, o.account, o.product_id,
    o.transaction_id, o.submission_id, o.purchase_date
FROM orders o WHERE o.state = 'parked'
UNION ALL
SELECT 'undecided', NULL, s.app, coalesce(s.reason, 'no_verdict'), coalesce(s.reopened_at, s.received_at),
    nullif(s.account, ''), NULL, s.named_transaction_id, s.id, NULL
FROM submissions s WHERE s.due_at IS NOT NULL
UNION ALL
-- The account has it, and the studio's backend was never told: where it keeps the goods, they are not delivered.
SELECT 'untold', e.environment, e.app, 'webhook_abandoned', e.created_at, e.account, NULL, e.transaction_id, NULL, NULL
FROM webhook_deliveries d JOIN events e ON e.id = d.event_id
WHERE d.state = 'abandoned' AND e.type = 'iap.transaction.fulfilled';

------------------------------------------------------------------------------------------------------------------------
-- Apple: what it is told, and what it has told
------------------------------------------------------------------------------------------------------------------------

-- Whether an account's player agreed that Apple is told how much of a purchase was used. Without a row, and without
-- `consented`, Apple is told nothing. Written by AccountConsentStore.
CREATE TABLE account_consents (
    app        text NOT NULL,
    account    text NOT NULL,
    consented  boolean NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(), -- since when it is so
    PRIMARY KEY (account, app)
);

-- Server notifications that Apple signed, each once; the signed text is the submission's. Never changed, removed by
-- retention. Written by AppleNotificationStore.
CREATE TABLE apple_notifications (
    app               text NOT NULL,
    notification_uuid text NOT NULL,
    environment       text NOT NULL,
    type              text NOT NULL,           -- Apple's word, known here or not
    subtype           text,
    signed_date       timestamptz,
    submission_id     text NOT NULL,
    recorded_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, notification_uuid)
);
-- AppleNotificationStore: last, select.
CREATE INDEX apple_notifications_type ON apple_notifications (type, app, recorded_at);
-- AppleNotificationStore.page, OverviewStore: an app's, the newest first.
CREATE INDEX apple_notifications_app ON apple_notifications (app, environment, recorded_at, notification_uuid);
-- AppleNotificationStore.remove, for retention.
CREATE INDEX apple_notifications_recorded ON apple_notifications (recorded_at);

-- Notifications that go on to a studio's older consumer, as Apple signed them. Written by NotificationForwardStore.
CREATE TABLE notification_forwards (
    app               text NOT NULL,
    notification_uuid text NOT NULL,
    state             text NOT NULL DEFAULT 'pending',
    due_at            timestamptz DEFAULT now(), -- a lease, then a back-off; null once nothing is due
    attempts          integer NOT NULL DEFAULT 0,
    last_status       integer,
    last_error        text,
    created_at        timestamptz NOT NULL DEFAULT now(),
    finished_at       timestamptz,
    PRIMARY KEY (app, notification_uuid),
    CONSTRAINT notification_forwards_state_is_known CHECK (state IN ('pending', 'delivered', 'given_up')),
    CONSTRAINT notification_forwards_pending_are_due CHECK ((state = 'pending') = (due_at IS NOT NULL))
);
-- NotificationForwardStore.claim.
CREATE INDEX notification_forwards_due ON notification_forwards (due_at) WHERE due_at IS NOT NULL;

-- Calls to Apple's servers that are to be made, or were; the verification workers make them. Written by AppleCallStore.
CREATE TABLE apple_calls (
    id                   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind                 text NOT NULL,
    environment          text NOT NULL,
    app                  text NOT NULL,
    transaction_id       text NOT NULL,        -- the one that the call names; of account_token the original one
    order_transaction_id text NOT NULL,        -- the order's own id
    state                text NOT NULL,
    due_at               timestamptz,          -- when the next step is due, or a lease ends; null once nothing is
    attempts             integer NOT NULL DEFAULT 0, -- calls that were made
    created_at           timestamptz NOT NULL DEFAULT now(),
    finished_at          timestamptz,
    status               integer,              -- of Apple's last answer, HTTP
    code                 bigint,               -- Apple's number in it
    outcome              text,                 -- why, in a word, where it was not done
    -- consumption
    requested_at         timestamptz,          -- when Apple signed the request
    deadline_at          timestamptz,          -- until when Apple takes an answer
    request_reason       text,                 -- Apple's consumptionRequestReason
    answer               jsonb,                -- what is to be said
    body                 text,                 -- what was sent, byte for byte
    api_version          integer,              -- of Send Consumption Information
    -- account_token
    account_token        uuid,
    -- extension: `answer` has by how much, and why
    audit_id             bigint,               -- the act
    renews_at            timestamptz,          -- when the subscription renews now, as Apple said
    CONSTRAINT apple_calls_kind_is_known CHECK (kind IN ('consumption', 'finish', 'account_token', 'extension')),
    CONSTRAINT apple_calls_state_is_known
        CHECK (state IN ('asked', 'ready', 'done', 'refused', 'lapsed', 'withdrawn')),
    CONSTRAINT apple_calls_open_are_due CHECK ((state IN ('asked', 'ready')) = (due_at IS NOT NULL)),
    CONSTRAINT apple_calls_open_are_unfinished CHECK ((state IN ('asked', 'ready')) = (finished_at IS NULL)),
    CONSTRAINT apple_calls_requests_have_dates
        CHECK ((kind = 'consumption') = (requested_at IS NOT NULL AND deadline_at IS NOT NULL))
);
-- A refund request may come again for the same transaction, and a subscription be extended again; the other calls are made once.
CREATE UNIQUE INDEX apple_calls_first ON apple_calls (environment, transaction_id, kind) WHERE kind IN ('finish', 'account_token');
CREATE UNIQUE INDEX apple_calls_request ON apple_calls (environment, transaction_id, requested_at)
    WHERE kind = 'consumption';
-- AppleCallReading.requests: an app's refund requests, the newest first.
CREATE INDEX apple_calls_requests ON apple_calls (app, id) WHERE kind = 'consumption';
-- ExtensionStore: a subscription's extensions.
CREATE INDEX apple_calls_extensions ON apple_calls (environment, transaction_id) WHERE kind = 'extension';
-- AppleCallReading.calls, AppleCallStore.reconsider, AccountExport, ForgettingStore.
CREATE INDEX apple_calls_order ON apple_calls (environment, order_transaction_id);
-- AppleCallStore: asked, openRequests, claim, and removeEnded for retention.
CREATE INDEX apple_calls_due ON apple_calls (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX apple_calls_requests_open ON apple_calls (due_at) WHERE due_at IS NOT NULL AND kind = 'consumption';
CREATE INDEX apple_calls_ready ON apple_calls (kind, due_at) WHERE state = 'ready';
CREATE INDEX apple_calls_finished ON apple_calls (finished_at) WHERE finished_at IS NOT NULL;

------------------------------------------------------------------------------------------------------------------------
-- Import from older systems
------------------------------------------------------------------------------------------------------------------------

-- Until when an older system granted what was bought. Every process judges by these rows, so that it does not matter
-- who decides an order, nor when. Written by CutOverStore.
CREATE TABLE cut_overs (
    environment text NOT NULL,
    app         text NOT NULL,
    product_id  text NOT NULL,                 -- '' for every product without a row of its own
    cut_over    timestamptz,                   -- bought before it: granted by the older system; null: everything, until it is set
    is_told     boolean NOT NULL,              -- whether events tell of what the older system granted
    audit_id    bigint NOT NULL,               -- who set it last, and why
    changed_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, environment, product_id),
    CONSTRAINT cut_overs_environment_is_known CHECK (environment IN ('production', 'sandbox'))
);

-- A file that is imported, and how far that has come. Written by ImportStore.
CREATE TABLE imports (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app         text NOT NULL,
    source      text NOT NULL,                 -- the file's name
    fingerprint bytea NOT NULL,                -- SHA-256 of what is in it, and of how it is read
    lines_done  bigint NOT NULL DEFAULT 0,
    audit_id    bigint NOT NULL,
    started_at  timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,                   -- when its last line was read
    CONSTRAINT imports_read_a_file_once UNIQUE (app, fingerprint)
);

-- Each line of such a file: what the older system says, and what was posted because of it. Written by ImportStore.
CREATE TABLE import_lines (
    import_id      bigint NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
    line           bigint NOT NULL,
    submission_id  text,                       -- null where the line was refused
    flaw           text,                       -- why it was refused
    detail         text,
    transaction_id text,                       -- what the line says, or its signed data; null where it does not
    product_id     text,
    quantity       integer,
    items          jsonb,                      -- what the older system credited: {"gem": 100}
    is_granted     boolean NOT NULL DEFAULT true,
    PRIMARY KEY (import_id, line),
    CONSTRAINT import_lines_are_posted_or_refused CHECK ((submission_id IS NULL) = (flaw IS NOT NULL))
);
-- ForgettingStore, AccountExport: a forgotten account's submissions get other ids.
CREATE INDEX import_lines_submission ON import_lines (submission_id) WHERE submission_id IS NOT NULL;

------------------------------------------------------------------------------------------------------------------------
-- Forgetting accounts: their name becomes a pseudonym in every table, and the sums stay
------------------------------------------------------------------------------------------------------------------------

-- Who is to be forgotten. The name stands here as long as that is under way; a finished row names nobody, neither by
-- the name nor by the pseudonym. Written by ForgetRequestStore.
CREATE TABLE forget_requests (
    id           text PRIMARY KEY,
    app          text NOT NULL,
    account      text,
    pseudonym    text,
    tokens       text[] NOT NULL DEFAULT '{}', -- its appAccountTokens, which are looked for in Apple's data
    asked_by     text,                         -- goes into audit_log at the end
    reason       text,
    requested_at timestamptz NOT NULL DEFAULT now(),
    due_at       timestamptz DEFAULT now(),    -- a lease: gone on with when it passes; null once finished
    attempts     integer NOT NULL DEFAULT 0,
    waits_for    text,                         -- why nothing is done yet
    renamed_at   timestamptz,                  -- when all that was there at the request had the pseudonym; until then fulfillment
                                               -- settles nothing by the name, from then on what was posted before the request is
                                               -- settled by the pseudonym, and the name is the new account's
    changed      jsonb NOT NULL DEFAULT '{}',  -- rows that were changed, by table
    finished_at  timestamptz,
    CONSTRAINT forget_requests_finished_are_not_due CHECK ((finished_at IS NULL) = (due_at IS NOT NULL)),
    CONSTRAINT forget_requests_finished_name_nobody CHECK (CASE WHEN finished_at IS NULL
        THEN num_nulls(account, pseudonym, asked_by, reason) = 0
        ELSE num_nonnulls(account, pseudonym, asked_by, reason, waits_for) = 0 AND tokens = '{}' END)
);
-- Asking twice is asking once; the new account of that name may ask, too, while the old one's purchases are waited for.
CREATE UNIQUE INDEX forget_requests_once ON forget_requests (account, app) WHERE account IS NOT NULL AND renamed_at IS NULL;
-- ForgetRequestStore: the requests of a name.
CREATE INDEX forget_requests_account ON forget_requests (account, app, requested_at) WHERE account IS NOT NULL;
-- What receipt-intake remembers of tokens holds until somebody is to be forgotten.
CREATE INDEX forget_requests_newest ON forget_requests (requested_at);
-- ForgetRequestStore.claimDue.
CREATE INDEX forget_requests_due ON forget_requests (due_at) WHERE due_at IS NOT NULL;

-- What Apple signed, without tokens of these, and without its text where that has one.
CREATE FUNCTION without_tokens(statement jsonb, tokens text[]) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT statement
        - CASE WHEN lower(statement ->> 'app_account_token') = ANY(tokens) THEN 'app_account_token' ELSE '' END
        - CASE WHEN lower(substring(statement ->> 'evidence' FROM '"appAccountToken"\s*:\s*"([0-9A-Fa-f-]{36})"'))
            = ANY(tokens) THEN 'evidence' ELSE '' END
$$;

------------------------------------------------------------------------------------------------------------------------
-- Sweeping: Apple is asked for what nobody told us of
------------------------------------------------------------------------------------------------------------------------

-- One row is one question that is asked again and again: of an app, or of one of Apple's customers. Any number of
-- workers share the rows by leases; where a round of pages has come to stands in the row, so that another worker goes
-- on with it. Written by SweepTaskStore.
CREATE TABLE sweep_tasks (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind          text NOT NULL,
    app           text NOT NULL,               -- '' for plan and walk
    environment   text NOT NULL,               -- '' for plan and walk
    customer      text NOT NULL DEFAULT '',    -- a:<appTransactionId>, t:<original id>, o:<id of one consumable>, m:<order id>; '' for an app
    subject       text NOT NULL DEFAULT '',    -- a transaction id of the customer, or an order id, by which Apple is asked
    cause         text NOT NULL DEFAULT 'schedule',
    priority      smallint NOT NULL,           -- 0 goes first
    due_at        timestamptz,                 -- a lease, or when it is asked next; null when it is not to be asked again
    claimed_at    timestamptz,                 -- since when a worker is at it; null when none is
    lease_number  integer NOT NULL DEFAULT 0,  -- of the last claim: who has an older one writes nothing
    asked_at      timestamptz,                 -- when somebody or something wanted it to be asked soon
    covered_until timestamptz,                 -- of an app: what Apple sent until then was compared; of plan: was planned for
    window_start  timestamptz,                 -- of the round under way
    window_end    timestamptz,
    page          text,                        -- where the round under way goes on
    revision      text,                        -- of a customer: Apple's mark of what was read; of an order: its transaction ids
    run_id        bigint,                      -- the reconciliation that waits for it
    calls         bigint NOT NULL DEFAULT 0,
    found         bigint NOT NULL DEFAULT 0,
    failures      integer NOT NULL DEFAULT 0,  -- in a row
    mismatches    integer NOT NULL DEFAULT 0,  -- of those, how often the page to come had what does not verify
    last_error    text,
    finished_at   timestamptz,                 -- the end of the last whole round
    created_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT sweep_tasks_kind_is_known
        CHECK (kind IN ('notifications', 'failures', 'history', 'refunds', 'statuses', 'order', 'walk', 'plan')),
    CONSTRAINT sweep_tasks_environment_is_known
        CHECK (environment IN ('production', 'sandbox') OR environment = '' AND kind IN ('walk', 'plan')),
    CONSTRAINT sweep_tasks_once UNIQUE (app, environment, kind, customer)
);
-- SweepTaskStore.claim.
CREATE INDEX sweep_tasks_due ON sweep_tasks (priority, due_at) WHERE due_at IS NOT NULL;
-- SweepRunStore.run.
CREATE INDEX sweep_tasks_run ON sweep_tasks (run_id) WHERE run_id IS NOT NULL;
-- SweepTaskStore.removeOver.
CREATE INDEX sweep_tasks_over ON sweep_tasks (finished_at) WHERE due_at IS NULL AND customer <> '';

-- After a restore of the database everything is asked anew, and this row waits for it. Written by SweepRunStore.
CREATE TABLE sweep_runs (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    since        timestamptz NOT NULL,
    app          text,                         -- null for all apps
    is_full      boolean NOT NULL,             -- histories are read from their beginning
    requested_at timestamptz NOT NULL DEFAULT now(),
    finished_at  timestamptz
);

-- POST /v1/sweeps: a backend has Apple asked about customers. Intake writes a row; a worker makes its tasks due, and
-- removes it after 30 days. Written by SweepRequestStore.
CREATE TABLE sweep_requests (
    id           text PRIMARY KEY,             -- swp_ and 32 hexadecimal digits
    app          text NOT NULL,
    subjects     text[] NOT NULL,              -- one purchase of each customer, as environment/transaction id, or order/order id; no name, no token
    requested_at timestamptz NOT NULL DEFAULT now(),
    taken_at     timestamptz,                  -- when a worker made the tasks due
    task_ids     bigint[] NOT NULL DEFAULT '{}',
    calls_before bigint NOT NULL DEFAULT 0,    -- of these tasks together
    found_before bigint NOT NULL DEFAULT 0
);
-- SweepRequestStore.ask: how many in a day.
CREATE INDEX sweep_requests_app ON sweep_requests (app, requested_at);
-- SweepRequestStore.takeUp.
CREATE INDEX sweep_requests_waiting ON sweep_requests (requested_at) WHERE taken_at IS NULL;

-- What was signed by Apple and not in the books. Its submission goes the ordinary way; by this row it is known as
-- recovered. Written by RecoveryStore.
CREATE TABLE recoveries (
    app            text NOT NULL,
    environment    text NOT NULL,
    finding        text NOT NULL,              -- what is said of what, and what the books said: found again, it is the same row
    submission_id  text NOT NULL,
    source         text NOT NULL,              -- the kind of the task that found it
    cause          text NOT NULL,              -- and its cause
    transaction_id text,                       -- null where a notification is about none
    found_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, environment, finding),
    CONSTRAINT recoveries_environment_is_known CHECK (environment IN ('production', 'sandbox'))
);
-- RecoveryStore.sources.
CREATE INDEX recoveries_submission ON recoveries (submission_id);
-- SweepRunStore: run, outcomes.
CREATE INDEX recoveries_found ON recoveries (found_at);

------------------------------------------------------------------------------------------------------------------------
-- Retention: what expires is divided by month, so that a month is dropped and not deleted row by row (decision 0018)
------------------------------------------------------------------------------------------------------------------------

-- The partitions of each divided table, but for the default ones, which take what no month is meant for. Made ahead and
-- dropped by the functions below, which PartitionStore calls. Written by PartitionStore.
CREATE TABLE table_months (
    table_name     text NOT NULL,
    partition_name text PRIMARY KEY,
    begins_at      timestamptz NOT NULL,
    ends_at        timestamptz NOT NULL,       -- the first instant after it
    CONSTRAINT table_months_once UNIQUE (table_name, begins_at)
);

-- How far retention has come: what is older is gone, and nothing that looks at the tables misses it. The functions
-- below write what they have dropped. Written by SubmissionStore.
CREATE TABLE retention_marks (
    name           text PRIMARY KEY,           -- a divided table; rejected_proofs, notifications, rejected
    dropped_before timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL DEFAULT now()
);

-- Makes the partition of one month; the caller needs no right to tables but this.
-- Returns whether it was made now. Fails with lock_not_available where somebody is in the way: ask again.
CREATE FUNCTION make_month(divided text, month date) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout = '100ms' AS $$
DECLARE
    begins CONSTANT timestamptz := date_trunc('month', month)::timestamp AT TIME ZONE 'UTC';
    ends   CONSTANT timestamptz := (date_trunc('month', month) + interval '1 month')::timestamp AT TIME ZONE 'UTC';
    name   CONSTANT text := divided || to_char(month, '_YYYY_MM');
    low    text := begins;
    high   text := ends;
    key    text := 'received_at';
    key_type text := 'timestamptz';
BEGIN
    IF divided IN ('events', 'webhook_deliveries') THEN
        key := CASE divided WHEN 'events' THEN 'id' ELSE 'event_id' END;
        key_type := 'text';
        low := event_floor(begins);
        high := event_floor(ends);
    ELSIF divided = 'webhook_attempts' THEN
        key := 'attempted_at';
    ELSIF divided <> 'submission_proofs' THEN
        RAISE EXCEPTION 'table % is not divided', divided USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF month NOT BETWEEN now() - interval '2 months' AND now() + interval '14 months' THEN
        RAISE EXCEPTION 'month % is too far away', month USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(x'436F756E6D6F'::bigint);
    IF EXISTS (SELECT FROM table_months WHERE table_name = divided AND begins_at < ends AND begins < ends_at) THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)', name, divided);
    -- What came before its month was made: a clock that is ahead, or a month that nobody made in time.
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', divided || '_other');
    EXECUTE format('WITH moved AS (DELETE FROM %I WHERE %I >= $1::%s AND %I < $2::%s RETURNING *) INSERT INTO %I SELECT * FROM moved',
        divided || '_other', key, key_type, key, key_type, name) USING low, high;
    IF divided = 'events' THEN
        EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I UNIQUE (account, app, environment, sequence)',
            name, name || '_sequence');
    END IF;
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', divided, name, low, high);
    INSERT INTO table_months (table_name, partition_name, begins_at, ends_at) VALUES (divided, name, begins, ends);
    RETURN true;
END $$;

-- Drops one partition whose time is over. Returns why it stays, or NULL where it is gone or never was.
-- What is wanted is asked for once nobody else can use the table: who redrives a submission has seen its proof, and has committed by
-- then, or finds no proof. The whole table comes before its part, as for everybody who reads it.
CREATE FUNCTION drop_month(divided text, dropped text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout = '100ms' AS $$
DECLARE
    month  table_months;
    low    text;
    high   text;
    wanted boolean := false;
BEGIN
    PERFORM pg_advisory_xact_lock(x'436F756E6D6F'::bigint);
    SELECT * INTO month FROM table_months WHERE table_name = divided AND partition_name = dropped;
    IF NOT FOUND THEN RETURN NULL; END IF;
    -- Whoever may call this can lose no more than what every retention would drop.
    IF month.ends_at > now() - interval '7 days' THEN RETURN 'its month is not over for a week'; END IF;
    EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', divided);
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', dropped);
    low := event_floor(month.begins_at);
    high := event_floor(month.ends_at);
    IF divided = 'events' THEN
        IF EXISTS (SELECT FROM event_outbox WHERE event_id >= low AND event_id < high) THEN
            RETURN 'the notification service has not taken over all of its events';
        END IF;
        -- What was delivered after its own month had been dropped.
        DELETE FROM webhook_deliveries_other WHERE event_id >= low AND event_id < high AND due_at IS NULL;
        IF EXISTS (SELECT FROM webhook_deliveries WHERE event_id >= low AND event_id < high) THEN
            RETURN 'deliveries of its events are still there';
        END IF;
    ELSIF divided = 'webhook_deliveries' THEN
        EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE due_at IS NOT NULL)', dropped) INTO wanted;
        IF wanted THEN RETURN 'some of its deliveries are pending'; END IF;
    ELSIF divided = 'submission_proofs' THEN
        IF EXISTS (SELECT FROM submissions WHERE due_at IS NOT NULL
                AND proof_at >= month.begins_at AND proof_at < month.ends_at)
            OR EXISTS (SELECT FROM submissions WHERE state = 'parked'
                AND proof_at >= month.begins_at AND proof_at < month.ends_at) THEN
            RETURN 'some of its submissions have no outcome yet';
        END IF;
    END IF;
    EXECUTE format('DROP TABLE %I', dropped);
    DELETE FROM table_months WHERE partition_name = dropped;
    INSERT INTO retention_marks (name, dropped_before) VALUES (divided, month.ends_at)
        ON CONFLICT (name) DO UPDATE
        SET dropped_before = greatest(retention_marks.dropped_before, excluded.dropped_before), updated_at = now();
    RETURN NULL;
END $$;

-- Makes the partition of one month, as make_month does for tables that are divided by their ids.
CREATE FUNCTION make_positions(month date) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout = '100ms' AS $$
DECLARE
    begins CONSTANT timestamptz := date_trunc('month', month)::timestamp AT TIME ZONE 'UTC';
    ends   CONSTANT timestamptz := (date_trunc('month', month) + interval '1 month')::timestamp AT TIME ZONE 'UTC';
    name   CONSTANT text := 'event_positions' || to_char(month, '_YYYY_MM');
BEGIN
    IF month NOT BETWEEN now() - interval '2 months' AND now() + interval '14 months' THEN
        RAISE EXCEPTION 'month % is too far away', month USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(x'436F756E6D6F'::bigint);
    IF EXISTS (SELECT FROM table_months WHERE table_name = 'event_positions' AND begins_at < ends AND begins < ends_at) THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE event_positions INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)', name);
    LOCK TABLE event_positions_other IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('WITH moved AS (DELETE FROM event_positions_other WHERE position >= $1 AND position < $2 RETURNING *)'
        ' INSERT INTO %I SELECT * FROM moved', name) USING position_floor(begins), position_floor(ends);
    EXECUTE format('ALTER TABLE event_positions ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
        name, position_floor(begins), position_floor(ends));
    INSERT INTO table_months (table_name, partition_name, begins_at, ends_at) VALUES ('event_positions', name, begins, ends);
    RETURN true;
END $$;

-- Drops one partition whose events were dropped. Returns why it stays, or NULL where it is gone or never was.
CREATE FUNCTION drop_positions(dropped text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout = '100ms' AS $$
DECLARE
    month table_months;
BEGIN
    PERFORM pg_advisory_xact_lock(x'436F756E6D6F'::bigint);
    SELECT * INTO month FROM table_months WHERE table_name = 'event_positions' AND partition_name = dropped;
    IF NOT FOUND THEN RETURN NULL; END IF;
    IF month.ends_at > now() - interval '7 days' THEN RETURN 'its month is not over for a week'; END IF;
    IF EXISTS (SELECT FROM table_months WHERE table_name = 'events' AND begins_at < month.ends_at) THEN
        RETURN 'events that it numbers are still there';
    END IF;
    EXECUTE format('DROP TABLE %I', dropped);
    DELETE FROM table_months WHERE partition_name = dropped;
    INSERT INTO retention_marks (name, dropped_before) VALUES ('event_positions', month.ends_at)
        ON CONFLICT (name) DO UPDATE
        SET dropped_before = greatest(retention_marks.dropped_before, excluded.dropped_before), updated_at = now();
    RETURN NULL;
END $$;

-- Removes submissions that are no record of money, settled before a time: the oldest, as many as the limit. What they
-- told stays in the books. `what` is notifications (Apple's, that were dealt with) or rejected (what accounts posted in
-- vain). What an import brought stays: its lines are compared with the books. Returns how many.
CREATE FUNCTION drop_submissions(what text, before timestamptz, most bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    condition CONSTANT text := CASE what
        WHEN 'notifications' THEN $c$account = '' AND NOT is_imported AND state IN ('fulfilled', 'rejected')$c$
        WHEN 'rejected' THEN $c$account <> '' AND state = 'rejected'$c$ END;
    removed bigint;
    newest  timestamptz;
BEGIN
    IF condition IS NULL THEN
        RAISE EXCEPTION 'submissions % are not removed', what USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- Whoever may call this can lose no more than what every retention would drop.
    IF before > now() - interval '7 days' THEN
        RAISE EXCEPTION 'submissions of the last week stay' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    EXECUTE format($q$
        WITH chosen AS (
            SELECT id, proof_at, settled_at, outcome FROM submissions
            WHERE %s AND settled_at < $1 ORDER BY settled_at LIMIT $2 FOR UPDATE SKIP LOCKED
        ), links AS (
            DELETE FROM submission_transactions w
            USING chosen CROSS JOIN LATERAL jsonb_to_recordset(CASE jsonb_typeof(chosen.outcome -> 'transactions')
                    WHEN 'array' THEN chosen.outcome -> 'transactions' END) AS t (environment text, transaction_id text)
                JOIN order_transactions i
                    ON (i.environment, i.transaction_id) = (coalesce(t.environment, 'production'), t.transaction_id)
            WHERE (w.environment, w.transaction_id, w.submission_id) = (i.environment, i.order_transaction_id, chosen.id)
        ), proofs AS (
            DELETE FROM submission_proofs p USING chosen
            WHERE p.received_at = chosen.proof_at AND p.submission_id = chosen.id
        ), gone AS (
            DELETE FROM submissions s USING chosen WHERE s.id = chosen.id RETURNING chosen.settled_at
        )
        SELECT count(*), max(settled_at) FROM gone$q$, condition) INTO removed, newest USING before, most;
    IF removed > 0 THEN
        INSERT INTO retention_marks (name, dropped_before) VALUES (what, newest + interval '1 microsecond')
            ON CONFLICT (name) DO UPDATE
            SET dropped_before = greatest(retention_marks.dropped_before, excluded.dropped_before), updated_at = now();
    END IF;
    RETURN removed;
END $$;

------------------------------------------------------------------------------------------------------------------------
-- At the end
------------------------------------------------------------------------------------------------------------------------

-- Functions with the owner's rights: rights.sql says who may call them. They look into this schema and into no other.
REVOKE EXECUTE ON FUNCTION make_month(text, date), drop_month(text, text), make_positions(date), drop_positions(text),
    drop_submissions(text, timestamptz, bigint), drop_deliveries_of_removed(text, bigint), queue_events() FROM PUBLIC;
DO $$
DECLARE
    function text;
    divided  text;
    month    date;
BEGIN
    FOREACH function IN ARRAY ARRAY['make_month(text, date)', 'drop_month(text, text)', 'make_positions(date)',
        'drop_positions(text)', 'drop_submissions(text, timestamptz, bigint)', 'drop_deliveries_of_removed(text, bigint)',
        'queue_events()']
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', function, current_schema());
    END LOOP;
    -- The month that it is and two more; ApplyRetention makes those that follow.
    FOR month IN SELECT date_trunc('month', now() AT TIME ZONE 'UTC') + n * interval '1 month' FROM generate_series(0, 2) n LOOP
        FOREACH divided IN ARRAY ARRAY['submission_proofs', 'events', 'webhook_deliveries', 'webhook_attempts'] LOOP
            PERFORM make_month(divided, month);
        END LOOP;
        PERFORM make_positions(month);
    END LOOP;
END $$;
