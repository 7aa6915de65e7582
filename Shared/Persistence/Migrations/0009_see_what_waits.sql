-- Monitoring asks every few seconds how many orders are parked, by environment and reason, and since when.
CREATE INDEX orders_waiting ON orders (environment, reason, created_at) WHERE state = 'parked';
