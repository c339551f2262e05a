-- What people answer to unknown outcomes, and who is told of them.

CREATE TABLE operation_challenges (
    challenge_sha256 TEXT PRIMARY KEY,
    operation        TEXT NOT NULL REFERENCES operations (operation),
    key_sha256       TEXT NOT NULL,
    issued_at        INTEGER NOT NULL,
    used_at          INTEGER
) STRICT;
CREATE INDEX operation_challenges_of_key ON operation_challenges (key_sha256, issued_at);

-- Kept for the stored receipt. What is counted is read from the log's signed envelopes.
CREATE TABLE reconciliations (
    reconciliation_sha256 TEXT PRIMARY KEY,
    operation        TEXT NOT NULL REFERENCES operations (operation),
    envelope         TEXT NOT NULL,
    position         INTEGER NOT NULL UNIQUE REFERENCES records (position) DEFERRABLE INITIALLY DEFERRED,
    state_after      TEXT NOT NULL,
    given            INTEGER NOT NULL,
    needed           INTEGER NOT NULL,
    conflict         INTEGER NOT NULL CHECK (conflict IN (0, 1))
) STRICT;
CREATE TRIGGER reconciliations_never_change BEFORE UPDATE ON reconciliations
    BEGIN SELECT RAISE(ABORT, 'a recorded answer never changes'); END;

CREATE TABLE pages (
    page            INTEGER PRIMARY KEY,
    reason          TEXT NOT NULL,
    request         TEXT,
    operation       TEXT,
    tool            TEXT,
    roles           TEXT NOT NULL,
    since           INTEGER NOT NULL,
    armed_at        INTEGER NOT NULL,
    due_at          INTEGER,
    look_again_at   INTEGER,
    count           INTEGER NOT NULL DEFAULT 0 CHECK (count >= 0)
) STRICT;
CREATE UNIQUE INDEX one_page_a_matter ON pages (reason, coalesce(request, ''), coalesce(operation, ''));
CREATE INDEX pages_due ON pages (due_at) WHERE due_at IS NOT NULL;

-- Late answers are records of the log.
DROP TABLE evidence;
