-- What Apple took back before anybody knew whose it is: looked for again when its token is registered.
CREATE INDEX orders_nobodys_refunds ON orders (app, app_account_token)
    WHERE state = 'revoked' AND account IS NULL AND app_account_token IS NOT NULL;
