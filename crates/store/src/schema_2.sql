-- Mint and redeem ask the log how often an operation was attempted.
CREATE INDEX records_of_operation ON records (operation) WHERE operation IS NOT NULL;

-- A record's insert asks which requests point at it (a deferred foreign key): without this it scans them all.
CREATE INDEX requests_by_position ON requests (position);
