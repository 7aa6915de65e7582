-- For people who have no shell: which server keys are in use, and what the doctor found.
CREATE TABLE server_key_uses (
    app         text NOT NULL,
    fingerprint text NOT NULL,
    used_at     timestamptz NOT NULL,
    PRIMARY KEY (app, fingerprint)
);
CREATE TABLE doctor_findings (
    is_last   boolean PRIMARY KEY DEFAULT true,
    findings  jsonb NOT NULL,
    looked_at timestamptz NOT NULL,
    CONSTRAINT doctor_findings_are_the_last CHECK (is_last)
);

-- How far the topic countersign.events has come: what the version before published comes again from here on.
ALTER TABLE event_numbering ADD COLUMN published_position bigint NOT NULL DEFAULT 0;
UPDATE event_numbering SET published_position = position_floor(now());

-- Money of many orders: what is alike is worked out once.
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
CREATE OR REPLACE VIEW order_proceeds AS
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
CREATE OR REPLACE VIEW daily_revenue AS
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

-- What an import brought without an account is not removed with Apple's notifications.
CREATE OR REPLACE FUNCTION drop_submissions(what text, before timestamptz, most bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
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
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION drop_submissions(text, timestamptz, bigint) SET search_path = %I, pg_temp', current_schema());
END $$;

-- How often the page to come had what does not verify: an outage of Apple's takes none of its tries.
ALTER TABLE sweep_tasks ADD COLUMN mismatches integer NOT NULL DEFAULT 0;
