-- Mint and redeem ask the log how often an operation was attempted.
CREATE INDEX records_of_operation ON records (operation) WHERE operation IS NOT NULL;
