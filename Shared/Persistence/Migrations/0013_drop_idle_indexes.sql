-- Every purchase wrote it, and no statement reads the ledger by account: balances answer for accounts.
DROP INDEX ledger_entries_account;
-- What they were made for is found by orders_waiting as well.
DROP INDEX orders_parked;
DROP INDEX orders_unclaimed;
