-- Money as Apple signed it, with estimates of what remains of it. Amounts are whole milliunits of a currency, rates
-- whole parts per million, days are UTC. Rows are only added: one for the same day as an older one takes its place.

-- What orders that an older version wrote say in their transaction only.
UPDATE orders SET
    ownership = coalesce(ownership, transaction->>'ownership'),
    original_purchase_date
        = coalesce(original_purchase_date, (transaction->>'original_purchase_date')::timestamptz),
    revocation_type = coalesce(revocation_type, transaction->>'revocation_type'),
    revocation_percentage = coalesce(revocation_percentage, (transaction->>'revocation_percentage')::bigint),
    app_transaction_id = coalesce(app_transaction_id, transaction->>'app_transaction_id')
WHERE transaction ?| ARRAY[
    'ownership', 'original_purchase_date', 'revocation_type', 'revocation_percentage', 'app_transaction_id'];

-- What Apple keeps. A storefront's own rows rule there from their first day on, the rows without one everywhere else.
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

-- Since when an app takes part in which of Apple's programs; standard where nothing is said.
CREATE TABLE app_commission_programs (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app        text NOT NULL,
    program    text NOT NULL,
    valid_from date NOT NULL,
    audit_id   bigint REFERENCES audit_log (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT app_commission_programs_program_is_known CHECK (program IN ('standard', 'small_business'))
);
CREATE INDEX app_commission_programs_app ON app_commission_programs (app, valid_from DESC, id DESC);
CREATE TRIGGER app_commission_programs_append_only BEFORE UPDATE OR DELETE ON app_commission_programs
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The customer's tax of a storefront. Where Apple collects and remits it, the price includes it; elsewhere none of the
-- price is tax. Of a storefront without a row nothing is known.
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

-- 30 %, 15 % after a subscriber's first year and in the small business program (begun 2021-01-01); the first day stands
-- for "ever since". China from 2026-03-15: Apple's notice to developers of 2026-03-13, as the press told it.
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

-- What each production purchase brought, as estimated. Family members paid nothing, test purchases neither.
CREATE VIEW order_proceeds AS
SELECT
    sold.transaction_id, sold.app, sold.account, sold.product_id, sold.storefront, sold.currency, sold.state,
    sold.purchase_date, sold.purchased_on, sold.refunded_on, sold.kind, applied.program,
    applied.commission_ppm, applied.tax_ppm, applied.tax_known,
    sold.gross, taxed.tax, kept.commission, sold.gross - taxed.tax - kept.commission AS estimated_proceeds,
    true AS is_estimate,
    sold.refunded_share, back.refunded, back_taxed.tax AS refunded_tax, back_kept.commission AS refunded_commission,
    back.refunded - back_taxed.tax - back_kept.commission AS refunded_proceeds
FROM (
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
    WHERE environment = 'production' AND test_purchase IS NULL AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
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
    sum(orders) AS orders, sum(refunds) AS refunds, sum(unpriced_orders) AS unpriced_orders,
    sum(tax_unknown_orders) AS tax_unknown_orders,
    coalesce(sum(gross), 0) AS gross, coalesce(sum(refunded), 0) AS refunded, coalesce(sum(tax), 0) AS tax,
    coalesce(sum(commission), 0) AS commission, coalesce(sum(estimated_proceeds), 0) AS estimated_proceeds
FROM (
    SELECT
        purchased_on AS day, app, storefront, currency, product_id, 1 AS orders, 0 AS refunds,
        (gross IS NULL)::int AS unpriced_orders,
        coalesce(gross > 0 AND NOT tax_known, false)::int AS tax_unknown_orders,
        gross, 0::bigint AS refunded, tax, commission, estimated_proceeds
    FROM order_proceeds
    UNION ALL
    SELECT
        refunded_on, app, storefront, currency, product_id, 0, 1, 0, 0,
        0::bigint, -refunded, -refunded_tax, -refunded_commission, -refunded_proceeds
    FROM order_proceeds
    WHERE refunded_on IS NOT NULL
) entries
GROUP BY day, app, storefront, currency, product_id;

-- A day or a month of a large table.
CREATE INDEX orders_purchased_on ON orders (((purchase_date AT TIME ZONE 'UTC')::date))
    WHERE environment = 'production';
CREATE INDEX orders_refunded_on ON orders ((CASE WHEN revocation_type IS DISTINCT FROM 'FAMILY_REVOKE'
    THEN (revocation_date AT TIME ZONE 'UTC')::date END))
    WHERE environment = 'production' AND (CASE WHEN revocation_type IS DISTINCT FROM 'FAMILY_REVOKE'
        THEN (revocation_date AT TIME ZONE 'UTC')::date END) IS NOT NULL;
