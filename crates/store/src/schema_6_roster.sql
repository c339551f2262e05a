-- A person may have several desktops, so an invite and an enrolment are each of a desktop. Recoveries wait.

CREATE TABLE invites_by_desktop (
    code_sha256     TEXT PRIMARY KEY,
    kind            TEXT NOT NULL CHECK (kind IN ('genesis', 'person', 'device')),
    person          TEXT NOT NULL,
    name            TEXT NOT NULL,
    roles           TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    used_at         INTEGER
) STRICT;
INSERT INTO invites_by_desktop SELECT code_sha256, kind, person, name, roles, created_at, expires_at, used_at FROM invites;

CREATE TABLE enrolments_by_desktop (
    device_sha256   TEXT PRIMARY KEY,
    person          TEXT NOT NULL,
    approval_key    TEXT NOT NULL UNIQUE,
    device_key      TEXT NOT NULL UNIQUE,
    request         TEXT REFERENCES requests (request),
    CHECK (approval_key <> device_key)
) STRICT;
INSERT INTO enrolments_by_desktop SELECT device_sha256, person, approval_key, device_key, request FROM enrolments;

DROP TABLE enrolments;
DROP TABLE invites;
ALTER TABLE invites_by_desktop RENAME TO invites;
ALTER TABLE enrolments_by_desktop RENAME TO enrolments;
CREATE UNIQUE INDEX one_invite_a_new_person ON invites (person) WHERE kind <> 'device';
CREATE INDEX enrolments_of_request ON enrolments (request) WHERE request IS NOT NULL;

CREATE TABLE recoveries (
    recovery_sha256 TEXT PRIMARY KEY,
    effective_at    INTEGER NOT NULL,
    waiting         INTEGER NOT NULL CHECK (waiting IN (0, 1))
) STRICT;
CREATE INDEX recoveries_waiting ON recoveries (effective_at) WHERE waiting = 1;

-- The chain of rosters is read from its records, not from the columns beside them.
CREATE INDEX records_of_roster ON records (position)
    WHERE type IN ('roster_changed', 'recovery_announced', 'recovery_vetoed', 'recovery_refused');
