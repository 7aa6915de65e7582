-- Money as Apple signed it, with estimates of what remains of it.
SELECT 1;
