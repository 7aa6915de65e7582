-- What each role may do. `countersign migrate` applies it as the owner, where create-roles.sql was run; by hand:
--   psql -X -v ON_ERROR_STOP=1 -d countersign -f rights.sql
-- Harmless to repeat, also while services run.
-- Everything is taken away first, so that what stands here is all there is. `check-rights` compares it with the database;
-- it reads the GRANTs below, one object each.

BEGIN;

-- One at a time: two that change the rights to one table would fail.
DO $$ BEGIN PERFORM pg_advisory_xact_lock(x'436F756E7466'::bigint); END $$;

DO $$ BEGIN
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO countersign_intake, countersign_worker, countersign_fulfillment, '
        'countersign_notification, countersign_reader, countersign_operator', current_database());
END $$;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM PUBLIC, countersign_intake, countersign_wallet, countersign_desk,
    countersign_worker, countersign_fulfillment, countersign_notification, countersign_reader, countersign_operator;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC, countersign_intake, countersign_wallet, countersign_desk,
    countersign_worker, countersign_fulfillment, countersign_notification, countersign_reader, countersign_operator;
-- Of later migrations' functions, too; nobody but the owner has rights to later tables anyway.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO countersign_intake, countersign_wallet, countersign_desk, countersign_worker,
    countersign_fulfillment, countersign_notification, countersign_reader, countersign_operator;

-- receipt-intake: accepts submissions and sends them again, keeps tokens and intents; reads what callers ask for.
GRANT SELECT ON schema_migrations TO countersign_intake;
GRANT SELECT, INSERT ON submissions TO countersign_intake;
-- Who posted what stays as it was written. A post of what was rejected opens it again.
GRANT UPDATE (due_at, attempts, state, outcome, settled_at, alarmed_at, is_server, not_found_count, not_found_attempt,
    first_not_found_at, reopened_at, reopened_count) ON submissions TO countersign_intake;
GRANT UPDATE (proof, proof_at) ON submissions TO countersign_intake;
GRANT SELECT, INSERT ON submission_proofs TO countersign_intake;
GRANT SELECT, INSERT ON proof_headers TO countersign_intake;
GRANT SELECT, INSERT ON account_tokens TO countersign_intake;
-- A token that a new account of the same name registers while the old one is being forgotten.
GRANT UPDATE (created_at) ON account_tokens TO countersign_intake;
GRANT SELECT, INSERT ON purchase_intents TO countersign_intake;
GRANT SELECT ON submission_transactions TO countersign_intake;
GRANT SELECT ON orders TO countersign_intake;
GRANT SELECT ON order_transactions TO countersign_intake;
GRANT SELECT ON order_proceeds TO countersign_intake;
GRANT SELECT ON entitlements TO countersign_intake;
GRANT SELECT ON lineage_shares TO countersign_intake;
GRANT SELECT ON binding_history TO countersign_intake;
GRANT SELECT ON operator_claims TO countersign_intake;
GRANT SELECT ON audit_log TO countersign_intake;
GRANT SELECT ON ledger_entries TO countersign_intake;
GRANT SELECT ON balances TO countersign_intake;
GRANT SELECT ON subscriptions TO countersign_intake;
GRANT SELECT ON events TO countersign_intake;
GRANT SELECT ON event_outbox TO countersign_intake;
-- GET /v1/events and GET /v1/accounts/{id}/events: which events there are in which order, and how far retention has come.
GRANT SELECT ON event_positions TO countersign_intake;
GRANT SELECT ON event_numbering TO countersign_intake;
GRANT SELECT ON retention_marks TO countersign_intake;
GRANT SELECT ON account_sequences TO countersign_intake;
GRANT SELECT ON webhook_deliveries TO countersign_intake;
-- GET /v1/webhooks/deliveries and what endpoints answered.
GRANT SELECT ON webhook_attempts TO countersign_intake;
-- POST /v1/webhooks/resend asks, and changes no delivery: it can have webhooks repeated, and none forgotten.
GRANT INSERT ON webhook_resends TO countersign_intake;
GRANT INSERT ON audit_log TO countersign_intake;
-- /v1/webhooks/endpoints: it writes sealed secrets down, and reads none again.
GRANT SELECT ON webhook_endpoint_settings TO countersign_intake;
GRANT SELECT (endpoint_id, id, scheme, public_key, created_at, expires_at) ON webhook_endpoint_secrets TO countersign_intake;
GRANT SELECT ON webhook_pings TO countersign_intake;
GRANT SELECT ON webhook_endpoints TO countersign_intake;
GRANT INSERT ON webhook_endpoint_settings TO countersign_intake;
GRANT UPDATE (url, description, apps, environments, events, schema_version, is_ordered, changed_at, removed_at)
    ON webhook_endpoint_settings TO countersign_intake;
GRANT INSERT, DELETE ON webhook_endpoint_secrets TO countersign_intake;
GRANT UPDATE (expires_at) ON webhook_endpoint_secrets TO countersign_intake;
GRANT INSERT, DELETE ON webhook_pings TO countersign_intake;
GRANT UPDATE (id, asked_at, due_at, finished_at, status, error, milliseconds) ON webhook_pings TO countersign_intake;
GRANT INSERT ON webhook_endpoints TO countersign_intake;
GRANT UPDATE (disabled_at, disabled_reason, failing_since) ON webhook_endpoints TO countersign_intake;
-- POST /v1/sweeps asks for questions to Apple, and makes none: a worker takes the request up.
GRANT SELECT, INSERT ON sweep_requests TO countersign_intake;
GRANT SELECT ON sweep_tasks TO countersign_intake;
GRANT SELECT ON recoveries TO countersign_intake;
-- The lists of backends and the console: /v1/apple-notifications, /v1/revenue, and what Apple would be told.
GRANT SELECT ON apple_notifications TO countersign_intake;
GRANT SELECT ON daily_revenue TO countersign_intake;
GRANT SELECT ON catalogues TO countersign_intake;
-- Accounts are exported, and asked to be forgotten; fulfillment carries that out.
GRANT SELECT, INSERT ON forget_requests TO countersign_intake;
GRANT SELECT ON lineages TO countersign_intake;
GRANT SELECT ON lineage_members TO countersign_intake;
GRANT SELECT ON lineage_claims TO countersign_intake;
GRANT SELECT ON renewal_statements TO countersign_intake;
GRANT SELECT ON spends TO countersign_intake;
GRANT SELECT ON import_lines TO countersign_intake;
GRANT EXECUTE ON FUNCTION share_of(bigint, bigint, bigint) TO countersign_intake;
-- PUT /v1/accounts/{id}/consent, which has Apple's open refund requests looked at again; both are exported.
GRANT SELECT, INSERT ON account_consents TO countersign_intake;
GRANT UPDATE (consented, changed_at) ON account_consents TO countersign_intake;
GRANT SELECT ON apple_calls TO countersign_intake;
GRANT UPDATE (state, answer, due_at) ON apple_calls TO countersign_intake;
-- Who looked at whose data: written once, and read.
GRANT SELECT, INSERT ON views TO countersign_intake;
-- Acts that a caller named, once each.
GRANT SELECT, INSERT ON remembered_acts TO countersign_intake;
GRANT UPDATE (status, headers, body) ON remembered_acts TO countersign_intake;
-- /v1/settings: server keys by their last use, and what the doctor found.
GRANT SELECT, INSERT, UPDATE ON server_key_uses TO countersign_intake;
GRANT SELECT ON doctor_findings TO countersign_intake;

-- POST /v1/accounts/{id}/spend, which is intake's.
GRANT SELECT, INSERT ON spends TO countersign_wallet;
GRANT SELECT, INSERT ON ledger_entries TO countersign_wallet;
GRANT SELECT, INSERT ON balances TO countersign_wallet;
GRANT UPDATE (amount) ON balances TO countersign_wallet;

-- What people do by the API, which is intake's: assign, adjust, retry, extend. It reads as countersign_intake does.
GRANT INSERT ON operator_claims TO countersign_desk;
-- POST /v1/subscriptions/{id}/extend asks for a call to Apple; a worker makes it.
GRANT INSERT ON apple_calls TO countersign_desk;
-- Only because a row lock wants some column; nothing writes it.
GRANT UPDATE (correlation_id) ON orders TO countersign_desk;
GRANT UPDATE (reason) ON submissions TO countersign_desk;
GRANT INSERT ON ledger_entries TO countersign_desk;
GRANT INSERT ON balances TO countersign_desk;
GRANT UPDATE (amount) ON balances TO countersign_desk;
GRANT INSERT ON entitlements TO countersign_desk;
GRANT UPDATE (granted_at, expires_at, end_told_at, audit_id) ON entitlements TO countersign_desk;
GRANT INSERT ON events TO countersign_desk;
GRANT INSERT ON event_outbox TO countersign_desk;
GRANT UPDATE (due_at) ON event_outbox TO countersign_desk;
GRANT INSERT ON account_sequences TO countersign_desk;
GRANT UPDATE (last_sequence) ON account_sequences TO countersign_desk;

-- verification-worker: proofs that are too large for a message.
GRANT SELECT (id, proof, proof_at) ON submissions TO countersign_worker;
GRANT SELECT ON submission_proofs TO countersign_worker;
GRANT SELECT ON proof_headers TO countersign_worker;
-- What responders have said is revoked: learnt by one worker, known by all.
GRANT SELECT, INSERT ON revoked_certificates TO countersign_worker;
-- What Apple is to be told: leased, called, written down; what is said and to whom stays as fulfillment wrote it.
GRANT SELECT ON apple_calls TO countersign_worker;
GRANT UPDATE (state, due_at, attempts, finished_at, status, code, outcome, body, api_version, renews_at) ON apple_calls
    TO countersign_worker;
-- The sweep: what Apple is asked, what is compared with its answers, and submissions of what nobody told us of.
GRANT SELECT, INSERT, UPDATE ON sweep_tasks TO countersign_worker;
GRANT SELECT, DELETE ON sweep_requests TO countersign_worker;
GRANT UPDATE (taken_at, task_ids, calls_before, found_before) ON sweep_requests TO countersign_worker;
GRANT SELECT, INSERT ON recoveries TO countersign_worker;
GRANT UPDATE (submission_id) ON recoveries TO countersign_worker;
GRANT SELECT (app, account, kind, named_transaction_id, is_server, received_at, outcome, not_found_count, reopened_at)
    ON submissions TO countersign_worker;
GRANT INSERT (id, app, account, kind, partition_key, correlation_id, named_transaction_id, expected_environment, is_server,
    proof, proof_at, due_at) ON submissions TO countersign_worker;
GRANT INSERT ON submission_proofs TO countersign_worker;
GRANT SELECT ON retention_marks TO countersign_worker;
GRANT SELECT (environment, transaction_id, app, account, state, reason, product_type, original_transaction_id,
    app_transaction_id, app_account_token, created_at, transaction) ON orders TO countersign_worker;
GRANT SELECT (environment, transaction_id, order_transaction_id, statement) ON order_transactions TO countersign_worker;
GRANT SELECT (id, app, account, created_at) ON purchase_intents TO countersign_worker;
GRANT SELECT (environment, transaction_id, state, expires_date) ON subscriptions TO countersign_worker;
GRANT SELECT (environment, original_transaction_id, statement) ON renewal_statements TO countersign_worker;
GRANT SELECT (environment, original_transaction_id, lineage_id) ON lineage_members TO countersign_worker;

-- fulfillment: everything that follows from a verdict.
GRANT SELECT ON schema_migrations TO countersign_fulfillment;
GRANT SELECT ON submissions TO countersign_fulfillment;
GRANT UPDATE (due_at, attempts, state, reason, outcome, settled_at, alarmed_at, not_found_count, not_found_attempt,
    first_not_found_at, reopened_at, parked_parts) ON submissions TO countersign_fulfillment;
GRANT SELECT, INSERT, DELETE ON submission_transactions TO countersign_fulfillment;
-- An order that was held, and turns out to be another's purchase, is removed.
GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO countersign_fulfillment;
GRANT SELECT, INSERT, DELETE ON order_transactions TO countersign_fulfillment;
GRANT UPDATE (statement) ON order_transactions TO countersign_fulfillment;
GRANT SELECT, INSERT ON purchase_conflicts TO countersign_fulfillment;
GRANT UPDATE (resolved_at) ON purchase_conflicts TO countersign_fulfillment;
GRANT SELECT, INSERT ON rescinded_consents TO countersign_fulfillment;
GRANT UPDATE (signed_date) ON rescinded_consents TO countersign_fulfillment;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitlements TO countersign_fulfillment;
GRANT SELECT, INSERT, UPDATE, DELETE ON lineages TO countersign_fulfillment;
-- A lineage that turns out to be another: what hangs on it goes to the other.
GRANT SELECT, INSERT ON lineage_members TO countersign_fulfillment;
GRANT UPDATE (lineage_id) ON lineage_members TO countersign_fulfillment;
GRANT SELECT, INSERT, DELETE ON lineage_shares TO countersign_fulfillment;
GRANT SELECT, INSERT ON lineage_claims TO countersign_fulfillment;
GRANT UPDATE (refused) ON lineage_claims TO countersign_fulfillment;
GRANT SELECT, INSERT ON binding_history TO countersign_fulfillment;
GRANT SELECT ON operator_claims TO countersign_fulfillment;
GRANT UPDATE (due_at) ON operator_claims TO countersign_fulfillment;
GRANT SELECT ON account_tokens TO countersign_fulfillment;
GRANT SELECT, INSERT, DELETE ON release_requests TO countersign_fulfillment;
GRANT UPDATE (due_at, environment, transaction_id) ON release_requests TO countersign_fulfillment;
GRANT SELECT, INSERT ON ledger_entries TO countersign_fulfillment;
GRANT SELECT, INSERT ON balances TO countersign_fulfillment;
GRANT UPDATE (amount) ON balances TO countersign_fulfillment;
GRANT SELECT, INSERT, UPDATE, DELETE ON subscriptions TO countersign_fulfillment;
GRANT SELECT, INSERT, DELETE ON renewal_statements TO countersign_fulfillment;
GRANT UPDATE (signed_date, statement) ON renewal_statements TO countersign_fulfillment;
GRANT SELECT, INSERT ON events TO countersign_fulfillment;
GRANT SELECT, INSERT ON event_outbox TO countersign_fulfillment;
-- The order of events: positions are given once, to what a trigger has queued.
GRANT SELECT, DELETE ON event_queue TO countersign_fulfillment;
GRANT SELECT, INSERT ON event_positions TO countersign_fulfillment;
GRANT SELECT ON event_numbering TO countersign_fulfillment;
GRANT UPDATE (last_position, published_position) ON event_numbering TO countersign_fulfillment;
-- When an event came into the outbox stays as it was written.
GRANT UPDATE (due_at, attempts, alarmed_at) ON event_outbox TO countersign_fulfillment;
GRANT SELECT, INSERT ON account_sequences TO countersign_fulfillment;
GRANT UPDATE (last_sequence) ON account_sequences TO countersign_fulfillment;
GRANT SELECT, INSERT ON catalogues TO countersign_fulfillment;
-- What Apple told, and what it is to be told.
GRANT SELECT, INSERT, DELETE ON apple_notifications TO countersign_fulfillment;
GRANT SELECT, INSERT, DELETE ON notification_forwards TO countersign_fulfillment;
GRANT SELECT, INSERT, DELETE ON apple_calls TO countersign_fulfillment;
-- Retention of what was found, and of questions that are asked once; and whether somebody takes up what backends ask for, as
-- monitoring counts it.
GRANT DELETE ON recoveries TO countersign_fulfillment;
GRANT SELECT, DELETE ON sweep_tasks TO countersign_fulfillment;
-- Only because a row lock wants some column; nothing writes it.
GRANT UPDATE (created_at) ON sweep_tasks TO countersign_fulfillment;
-- A device shows no refund of what Apple told was refunded: Apple is asked.
GRANT INSERT ON sweep_tasks TO countersign_fulfillment;
GRANT UPDATE (cause, priority, due_at, asked_at, revision, run_id) ON sweep_tasks TO countersign_fulfillment;
-- Words of Apple's that nobody here knows.
GRANT SELECT, INSERT ON unknown_values TO countersign_fulfillment;
GRANT UPDATE (last_seen_at, is_named) ON unknown_values TO countersign_fulfillment;
GRANT SELECT ON sweep_requests TO countersign_fulfillment;
GRANT UPDATE (state, due_at, answer, finished_at, outcome, account_token) ON apple_calls TO countersign_fulfillment;
GRANT SELECT, DELETE ON account_consents TO countersign_fulfillment;
-- A token for what was bought without one.
GRANT INSERT ON account_tokens TO countersign_fulfillment;
GRANT SELECT ON cut_overs TO countersign_fulfillment;
-- Retention.
GRANT SELECT, DELETE ON remembered_acts TO countersign_fulfillment;
GRANT SELECT, DELETE ON views TO countersign_fulfillment;
-- For the gauges of what is due.
GRANT SELECT ON webhook_deliveries TO countersign_fulfillment;
GRANT SELECT ON webhook_endpoints TO countersign_fulfillment;

-- Which submissions the sweep brought.
GRANT SELECT ON recoveries TO countersign_fulfillment;

-- An account is forgotten: these columns become a pseudonym, or nothing; triggers keep the rest of what is written once.
GRANT SELECT ON forget_requests TO countersign_fulfillment;
GRANT UPDATE (tokens, due_at, attempts, waits_for, changed, renamed_at, finished_at, account, pseudonym, asked_by, reason)
    ON forget_requests TO countersign_fulfillment;
GRANT UPDATE (id, account, partition_key, correlation_id, named_transaction_id, proof, proof_at)
    ON submissions TO countersign_fulfillment;
GRANT SELECT, INSERT, DELETE ON submission_proofs TO countersign_fulfillment;
GRANT UPDATE (submission_id) ON submission_transactions TO countersign_fulfillment;
GRANT UPDATE (submission_id) ON order_transactions TO countersign_fulfillment;
GRANT UPDATE (submission_id) ON purchase_conflicts TO countersign_fulfillment;
GRANT SELECT ON import_lines TO countersign_fulfillment;
GRANT UPDATE (submission_id) ON import_lines TO countersign_fulfillment;
GRANT DELETE ON account_tokens TO countersign_fulfillment;
GRANT SELECT, DELETE ON purchase_intents TO countersign_fulfillment;
GRANT DELETE ON lineage_claims TO countersign_fulfillment;
GRANT UPDATE (submission_id) ON lineage_claims TO countersign_fulfillment;
GRANT UPDATE (from_account, to_account, submission_id) ON binding_history TO countersign_fulfillment;
GRANT UPDATE (account) ON operator_claims TO countersign_fulfillment;
GRANT UPDATE (account) ON ledger_entries TO countersign_fulfillment;
GRANT DELETE ON balances TO countersign_fulfillment;
GRANT SELECT ON spends TO countersign_fulfillment;
GRANT UPDATE (account, idempotency_key, request_sha256, reference) ON spends TO countersign_fulfillment;
GRANT DELETE ON account_sequences TO countersign_fulfillment;
GRANT UPDATE (account, sequence, partition_key, body) ON events TO countersign_fulfillment;
GRANT UPDATE (account) ON event_positions TO countersign_fulfillment;
GRANT UPDATE (last_error) ON webhook_deliveries TO countersign_fulfillment;
GRANT SELECT ON webhook_attempts TO countersign_fulfillment;
GRANT UPDATE (answer) ON webhook_attempts TO countersign_fulfillment;
GRANT SELECT ON webhook_turns TO countersign_fulfillment;
GRANT UPDATE (lane, sequence) ON webhook_turns TO countersign_fulfillment;
GRANT SELECT, INSERT ON audit_log TO countersign_fulfillment;
GRANT UPDATE (subject, reason) ON audit_log TO countersign_fulfillment;
GRANT UPDATE (account) ON views TO countersign_fulfillment;
GRANT EXECUTE ON FUNCTION without_tokens(jsonb, text[]) TO countersign_fulfillment;

-- Retention: it makes and drops months by these alone, which hold back what is still wanted.
GRANT SELECT ON table_months TO countersign_fulfillment;
GRANT SELECT, INSERT, UPDATE ON retention_marks TO countersign_fulfillment;
GRANT EXECUTE ON FUNCTION make_month(text, date) TO countersign_fulfillment;
GRANT EXECUTE ON FUNCTION drop_month(text, text) TO countersign_fulfillment;
GRANT EXECUTE ON FUNCTION make_positions(date) TO countersign_fulfillment;
GRANT EXECUTE ON FUNCTION drop_positions(text) TO countersign_fulfillment;
GRANT EXECUTE ON FUNCTION drop_submissions(text, timestamptz, bigint) TO countersign_fulfillment;

-- notification: takes events over, delivers them.
GRANT SELECT ON schema_migrations TO countersign_notification;
GRANT SELECT ON events TO countersign_notification;
GRANT SELECT, DELETE ON event_outbox TO countersign_notification;
-- What it posts first; a row lock wants some column, too.
GRANT UPDATE (claimed_until, due_at) ON event_outbox TO countersign_notification;
GRANT SELECT, INSERT ON webhook_deliveries TO countersign_notification;
GRANT UPDATE (state, due_at, attempts, last_status, last_error, delivered_at, attempts_forgiven, failed_at) ON
    webhook_deliveries TO countersign_notification;
-- Each attempt once, and whose turn it is at ordered endpoints; attempts are not changed by anybody but forgetting.
GRANT SELECT, INSERT ON webhook_attempts TO countersign_notification;
GRANT SELECT, INSERT, DELETE ON webhook_turns TO countersign_notification;
GRANT SELECT, DELETE ON webhook_resends TO countersign_notification;
-- Only because a row lock wants some column; nothing writes it.
GRANT UPDATE (asked_at) ON webhook_resends TO countersign_notification;
GRANT SELECT, INSERT ON webhook_endpoints TO countersign_notification;
GRANT UPDATE (disabled_at, disabled_reason, failing_since, succeeded_at, is_holding, resumed_at) ON webhook_endpoints TO
    countersign_notification;

-- Endpoints of the database: it opens their secrets, sends test messages, and takes away what waits for removed ones.
GRANT SELECT ON webhook_endpoint_settings TO countersign_notification;
GRANT UPDATE (cleared_at) ON webhook_endpoint_settings TO countersign_notification;
GRANT SELECT ON webhook_endpoint_secrets TO countersign_notification;
GRANT SELECT ON webhook_pings TO countersign_notification;
GRANT UPDATE (due_at, finished_at, status, error, milliseconds) ON webhook_pings TO countersign_notification;
GRANT EXECUTE ON FUNCTION drop_deliveries_of_removed(text, bigint) TO countersign_notification;

-- Apple's notifications that go on to an older consumer.
GRANT SELECT ON apple_notifications TO countersign_notification;
GRANT SELECT ON notification_forwards TO countersign_notification;
GRANT UPDATE (state, due_at, attempts, last_status, last_error, finished_at) ON notification_forwards
    TO countersign_notification;
GRANT SELECT (id, proof, proof_at) ON submissions TO countersign_notification;
GRANT SELECT ON submission_proofs TO countersign_notification;
GRANT SELECT ON proof_headers TO countersign_notification;

-- The tool, looking: doctor, undelivered, inspect, books check, orders owners, revenue, rates list, cut-over list, import report and
-- compare.
GRANT SELECT ON schema_migrations TO countersign_reader;
GRANT SELECT ON submissions TO countersign_reader;
GRANT SELECT ON proof_headers TO countersign_reader;
GRANT SELECT ON submission_proofs TO countersign_reader;
GRANT SELECT ON table_months TO countersign_reader;
GRANT SELECT ON retention_marks TO countersign_reader;
GRANT SELECT ON submission_transactions TO countersign_reader;
GRANT SELECT ON account_tokens TO countersign_reader;
GRANT SELECT ON release_requests TO countersign_reader;
GRANT SELECT ON purchase_intents TO countersign_reader;
GRANT SELECT ON orders TO countersign_reader;
GRANT SELECT ON order_transactions TO countersign_reader;
GRANT SELECT ON sales TO countersign_reader;
GRANT SELECT ON order_proceeds TO countersign_reader;
GRANT SELECT ON alike_proceeds TO countersign_reader;
GRANT SELECT ON daily_revenue TO countersign_reader;
GRANT SELECT ON purchase_conflicts TO countersign_reader;
GRANT SELECT ON rescinded_consents TO countersign_reader;
GRANT SELECT ON entitlements TO countersign_reader;
GRANT SELECT ON lineages TO countersign_reader;
GRANT SELECT ON lineage_members TO countersign_reader;
GRANT SELECT ON lineage_shares TO countersign_reader;
GRANT SELECT ON lineage_claims TO countersign_reader;
GRANT SELECT ON binding_history TO countersign_reader;
GRANT SELECT ON operator_claims TO countersign_reader;
GRANT SELECT ON ledger_entries TO countersign_reader;
GRANT SELECT ON balances TO countersign_reader;
GRANT SELECT ON spends TO countersign_reader;
GRANT SELECT ON subscriptions TO countersign_reader;
GRANT SELECT ON renewal_statements TO countersign_reader;
GRANT SELECT ON events TO countersign_reader;
GRANT SELECT ON event_outbox TO countersign_reader;
GRANT SELECT ON event_queue TO countersign_reader;
GRANT SELECT ON event_positions TO countersign_reader;
GRANT SELECT ON event_numbering TO countersign_reader;
GRANT SELECT ON account_sequences TO countersign_reader;
GRANT SELECT ON webhook_deliveries TO countersign_reader;
GRANT SELECT ON webhook_attempts TO countersign_reader;
GRANT SELECT ON webhook_turns TO countersign_reader;
GRANT SELECT ON webhook_resends TO countersign_reader;
GRANT SELECT ON webhook_endpoints TO countersign_reader;
GRANT SELECT ON webhook_endpoint_settings TO countersign_reader;
GRANT SELECT (endpoint_id, id, scheme, public_key, created_at, expires_at) ON webhook_endpoint_secrets TO countersign_reader;
GRANT SELECT ON webhook_pings TO countersign_reader;
GRANT SELECT ON catalogues TO countersign_reader;
GRANT SELECT ON cut_overs TO countersign_reader;
GRANT SELECT ON imports TO countersign_reader;
GRANT SELECT ON import_lines TO countersign_reader;
GRANT SELECT ON revoked_certificates TO countersign_reader;
GRANT SELECT ON commission_rates TO countersign_reader;
GRANT SELECT ON tax_rates TO countersign_reader;
GRANT SELECT ON app_commission_programs TO countersign_reader;
GRANT SELECT ON audit_log TO countersign_reader;
GRANT SELECT ON views TO countersign_reader;
GRANT SELECT ON remembered_acts TO countersign_reader;
GRANT SELECT ON server_key_uses TO countersign_reader;
GRANT SELECT ON doctor_findings TO countersign_reader;
GRANT SELECT ON forget_requests TO countersign_reader;
GRANT SELECT ON account_consents TO countersign_reader;
GRANT SELECT ON apple_notifications TO countersign_reader;
GRANT SELECT ON notification_forwards TO countersign_reader;
GRANT SELECT ON apple_calls TO countersign_reader;
GRANT SELECT ON sweep_tasks TO countersign_reader;
GRANT SELECT ON unknown_values TO countersign_reader;
GRANT SELECT ON sweep_runs TO countersign_reader;
GRANT SELECT ON sweep_requests TO countersign_reader;
GRANT SELECT ON recoveries TO countersign_reader;
GRANT SELECT ON undelivered_purchases TO countersign_reader;
GRANT EXECUTE ON FUNCTION share_of(bigint, bigint, bigint) TO countersign_reader;

-- The tool, acting: redrive, sweep, reconcile, claim, adjust, rates set, webhooks enable and resend, cut-over set, import; what
-- runbooks have a person mend. It reads as countersign_reader.
GRANT INSERT ON audit_log TO countersign_operator;
GRANT INSERT, UPDATE ON doctor_findings TO countersign_operator;
GRANT UPDATE (state, outcome, reason, settled_at, due_at, attempts) ON submissions TO countersign_operator;
GRANT INSERT ON operator_claims TO countersign_operator;
GRANT INSERT ON webhook_resends TO countersign_operator;
GRANT INSERT ON forget_requests TO countersign_operator;
-- countersign apple sweep and reconcile: what the workers ask Apple, and when.
GRANT INSERT ON sweep_tasks TO countersign_operator;
GRANT UPDATE (subject, cause, priority, due_at, asked_at, covered_until, window_start, window_end, page, revision, run_id)
    ON sweep_tasks TO countersign_operator;
GRANT INSERT ON sweep_runs TO countersign_operator;
GRANT UPDATE (finished_at) ON sweep_runs TO countersign_operator;
-- Only because a row lock wants some column; nothing writes it.
GRANT UPDATE (correlation_id) ON orders TO countersign_operator;
GRANT INSERT ON ledger_entries TO countersign_operator;
GRANT INSERT ON balances TO countersign_operator;
GRANT UPDATE (amount) ON balances TO countersign_operator;
GRANT INSERT ON events TO countersign_operator;
GRANT INSERT ON event_outbox TO countersign_operator;
GRANT UPDATE (due_at) ON event_outbox TO countersign_operator;
GRANT INSERT ON account_sequences TO countersign_operator;
GRANT UPDATE (last_sequence) ON account_sequences TO countersign_operator;
GRANT INSERT ON commission_rates TO countersign_operator;
GRANT INSERT ON tax_rates TO countersign_operator;
GRANT INSERT ON app_commission_programs TO countersign_operator;
GRANT UPDATE (resolved_at) ON purchase_conflicts TO countersign_operator;
GRANT DELETE ON revoked_certificates TO countersign_operator;
GRANT UPDATE (disabled_at, disabled_reason, failing_since) ON webhook_endpoints TO countersign_operator;
-- countersign webhooks, for endpoints of the database.
GRANT INSERT ON webhook_endpoint_settings TO countersign_operator;
GRANT UPDATE (url, description, apps, environments, events, schema_version, is_ordered, changed_at, removed_at)
    ON webhook_endpoint_settings TO countersign_operator;
GRANT INSERT, DELETE ON webhook_endpoint_secrets TO countersign_operator;
GRANT UPDATE (expires_at) ON webhook_endpoint_secrets TO countersign_operator;
GRANT INSERT, DELETE ON webhook_pings TO countersign_operator;
GRANT UPDATE (id, asked_at, due_at, finished_at, status, error, milliseconds) ON webhook_pings TO countersign_operator;
GRANT INSERT ON webhook_endpoints TO countersign_operator;
-- A table is locked by who may change all of it.
GRANT INSERT, UPDATE ON cut_overs TO countersign_operator;
GRANT INSERT ON imports TO countersign_operator;
GRANT UPDATE (lines_done, finished_at) ON imports TO countersign_operator;
GRANT INSERT ON import_lines TO countersign_operator;
-- Imports post as receipt-intake does.
GRANT INSERT ON submissions TO countersign_operator;
GRANT UPDATE (alarmed_at, is_server, not_found_count, not_found_attempt, first_not_found_at, reopened_at, reopened_count,
    proof, proof_at) ON submissions TO countersign_operator;
GRANT INSERT ON submission_proofs TO countersign_operator;
GRANT INSERT ON proof_headers TO countersign_operator;
GRANT INSERT ON account_tokens TO countersign_operator;
GRANT UPDATE (created_at) ON account_tokens TO countersign_operator;

COMMIT;
