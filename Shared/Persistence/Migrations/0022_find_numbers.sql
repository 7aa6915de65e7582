-- Submissions that are found by a number: the transaction that a receipt was posted for, a bare transaction id, an order id. The
-- index is made before this, beside running services (IndexChange.findNumbers); here are the statistics of its expression.
ANALYZE submissions;
