-- Every look that is repeated reads a bounded number of rows, however many are due. The indexes for it are made before this,
-- beside running services (IndexChange.readFewRows); here are the statistics of what they are made of.
ANALYZE submissions;
