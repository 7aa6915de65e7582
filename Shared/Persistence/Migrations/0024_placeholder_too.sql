-- A place for a migration that comes from elsewhere; dropped when it is there.
SELECT 1;
