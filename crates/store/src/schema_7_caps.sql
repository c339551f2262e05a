-- What counts under the caps of rows: one entry an operation, made with it, never deleted.

CREATE TABLE reservations (
    operation       TEXT PRIMARY KEY REFERENCES operations (operation),
    tool            TEXT NOT NULL,
    agent           TEXT NOT NULL,
    run             TEXT NOT NULL,
    at_ms           INTEGER NOT NULL,
    currency        TEXT,
    amount_minor    INTEGER CHECK (amount_minor >= 0),
    -- What of the amount counts still.
    kept_minor      INTEGER CHECK (kept_minor BETWEEN 0 AND amount_minor),
    counts          INTEGER NOT NULL CHECK (counts IN (0, 1)),
    CHECK ((currency IS NULL) = (amount_minor IS NULL) AND (amount_minor IS NULL) = (kept_minor IS NULL))
) STRICT;
CREATE INDEX reservations_of_run ON reservations (tool, agent, run) WHERE counts = 1;
CREATE INDEX reservations_of_agent ON reservations (tool, agent, at_ms) WHERE counts = 1;
CREATE INDEX reservations_of_day ON reservations (tool, at_ms) WHERE counts = 1;
CREATE TRIGGER reservations_are_kept BEFORE DELETE ON reservations
    BEGIN SELECT RAISE(ABORT, 'a reservation is never deleted'); END;
CREATE TRIGGER reservations_only_fall BEFORE UPDATE ON reservations
    WHEN NEW.operation <> OLD.operation OR NEW.tool <> OLD.tool OR NEW.agent <> OLD.agent OR NEW.run <> OLD.run OR NEW.at_ms <> OLD.at_ms
        OR NEW.currency IS NOT OLD.currency OR NEW.amount_minor IS NOT OLD.amount_minor
        OR NEW.kept_minor > OLD.kept_minor OR NEW.counts > OLD.counts
    BEGIN SELECT RAISE(ABORT, 'a reservation only falls'); END;
