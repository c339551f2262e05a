-- The gate's ledger. Ids and digests are text in their one spelling, times are milliseconds since the epoch.
-- The CHECKs and triggers state what must hold whatever the code above does.

CREATE TABLE gate (
    one             INTEGER PRIMARY KEY CHECK (one = 1),
    gate            TEXT NOT NULL,
    environment     TEXT NOT NULL CHECK (environment IN ('live', 'test')),
    log_key         TEXT NOT NULL,
    token_key       TEXT NOT NULL,
    recovery_key    TEXT,
    table_sha256    TEXT NOT NULL REFERENCES effect_tables (table_sha256),
    table_signed    INTEGER NOT NULL DEFAULT 0 CHECK (table_signed IN (0, 1)),
    roster_version  INTEGER REFERENCES rosters (version),
    CHECK (table_signed = 1 OR roster_version IS NULL)
) STRICT;

CREATE TABLE clock (
    one             INTEGER PRIMARY KEY CHECK (one = 1),
    now_ms          INTEGER NOT NULL CHECK (now_ms >= 0),
    -- What the gate says of the end of its log and of this time, made with a key that lies outside the database.
    seal            BLOB CHECK (seal IS NULL OR length(seal) = 32)
) STRICT;
INSERT INTO clock (one, now_ms) VALUES (1, 0);
CREATE TRIGGER clock_never_runs_back BEFORE UPDATE ON clock WHEN NEW.now_ms < OLD.now_ms
    BEGIN SELECT RAISE(ABORT, 'the clock would run back'); END;

CREATE TABLE effect_tables (
    table_sha256    TEXT PRIMARY KEY,
    toml            TEXT NOT NULL
) STRICT;

CREATE TABLE rosters (
    version         INTEGER PRIMARY KEY CHECK (version >= 1),
    roster_sha256   TEXT NOT NULL UNIQUE,
    text            TEXT NOT NULL
) STRICT;

-- The log. A record is staged and gets its position in the same transaction.

CREATE TABLE records (
    position        INTEGER PRIMARY KEY CHECK (position >= 0),
    leaf            TEXT NOT NULL CHECK (length(CAST(leaf AS BLOB)) <= 65535),
    type            TEXT NOT NULL,
    at_ms           INTEGER NOT NULL,
    request         TEXT,
    operation       TEXT,
    roles           TEXT NOT NULL,
    salt            TEXT,
    body            TEXT,
    CHECK ((salt IS NULL) = (body IS NULL))
) STRICT;
CREATE INDEX records_of_request ON records (request) WHERE request IS NOT NULL;
-- A write has no request. The records of any other operation are found among those of its request, which lie together.
CREATE INDEX records_of_write ON records (operation) WHERE operation IS NOT NULL AND request IS NULL;
CREATE INDEX records_of_agent ON records (json_extract(leaf, '$.claims.agent')) WHERE type IN ('agent_added', 'agent_revoked');
CREATE INDEX records_of_invite ON records (json_extract(leaf, '$.claims.invite_sha256')) WHERE type = 'invite_created';
-- The chain of rosters is read from its records, not from the columns beside them.
CREATE INDEX records_of_roster ON records (position)
    WHERE type IN ('roster_changed', 'recovery_announced', 'recovery_vetoed', 'recovery_refused');
-- What a delay does not count.
CREATE INDEX records_of_skipped_time ON records (position) WHERE type = 'time_skipped';
CREATE TRIGGER records_are_kept BEFORE DELETE ON records
    BEGIN SELECT RAISE(ABORT, 'a record is never deleted'); END;
CREATE TRIGGER leaves_never_change BEFORE UPDATE OF position, leaf ON records
    BEGIN SELECT RAISE(ABORT, 'a leaf never changes'); END;

-- Every complete subtree, numbered in the order in which they become complete, so that each is added behind the last.
CREATE TABLE log_nodes (
    node            INTEGER PRIMARY KEY CHECK (node >= 0),
    hash            BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

CREATE TABLE log_head (
    one             INTEGER PRIMARY KEY CHECK (one = 1),
    size            INTEGER NOT NULL CHECK (size >= 0),
    root            TEXT NOT NULL,
    frontier        BLOB NOT NULL CHECK (length(frontier) % 32 = 0)
) STRICT;
-- The root of the empty tree is SHA-256 of nothing.
INSERT INTO log_head VALUES (1, 0, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', x'');
CREATE TRIGGER log_never_shrinks BEFORE UPDATE ON log_head WHEN NEW.size <= OLD.size
    BEGIN SELECT RAISE(ABORT, 'the log would not grow'); END;

CREATE TABLE checkpoints (
    size            INTEGER PRIMARY KEY CHECK (size >= 1),
    note            TEXT NOT NULL
) STRICT;

-- Who.

-- A person may have several desktops, so an invite and an enrolment are each of a desktop.

CREATE TABLE invites (
    code_sha256     TEXT PRIMARY KEY,
    kind            TEXT NOT NULL CHECK (kind IN ('genesis', 'person', 'device')),
    person          TEXT NOT NULL,
    name            TEXT NOT NULL,
    roles           TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    used_at         INTEGER
) STRICT;
CREATE UNIQUE INDEX one_invite_a_new_person ON invites (person) WHERE kind <> 'device';

CREATE TABLE enrolments (
    device_sha256   TEXT PRIMARY KEY,
    person          TEXT NOT NULL,
    approval_key    TEXT NOT NULL UNIQUE,
    device_key      TEXT NOT NULL UNIQUE,
    request         TEXT REFERENCES requests (request),
    CHECK (approval_key <> device_key)
) STRICT;
CREATE INDEX enrolments_of_request ON enrolments (request) WHERE request IS NOT NULL;

CREATE TABLE recoveries (
    recovery_sha256 TEXT PRIMARY KEY,
    effective_at    INTEGER NOT NULL,
    waiting         INTEGER NOT NULL CHECK (waiting IN (0, 1))
) STRICT;
CREATE INDEX recoveries_waiting ON recoveries (effective_at) WHERE waiting = 1;

CREATE TABLE agents (
    agent             TEXT PRIMARY KEY,
    owner             TEXT,
    parent            TEXT REFERENCES agents (agent),
    credential_sha256 TEXT NOT NULL UNIQUE,
    run               TEXT NOT NULL UNIQUE,
    created_at        INTEGER NOT NULL,
    -- When its credential was taken back. The log says so too, and is the one that is believed.
    revoked_at        INTEGER,
    CHECK (parent IS NULL OR parent <> agent)
) STRICT;

CREATE TABLE session_challenges (
    challenge_sha256 TEXT PRIMARY KEY,
    key_sha256       TEXT NOT NULL,
    issued_at        INTEGER NOT NULL,
    expires_at       INTEGER NOT NULL,
    used_at          INTEGER
) STRICT;
CREATE INDEX session_challenges_of_key ON session_challenges (key_sha256, issued_at);

CREATE TABLE sessions (
    session_sha256  TEXT PRIMARY KEY,
    person          TEXT NOT NULL,
    key_sha256      TEXT NOT NULL,
    opened_at       INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_by_end ON sessions (expires_at);

-- Calls, requests, decisions.

CREATE TABLE calls (
    call            TEXT PRIMARY KEY,
    agent           TEXT REFERENCES agents (agent),
    proposer        TEXT,
    on_behalf_of    TEXT,
    run             TEXT,
    call_key        TEXT,
    tool            TEXT NOT NULL,
    effect          TEXT NOT NULL CHECK (effect IN ('write', 'money')),
    payload_sha256  TEXT NOT NULL,
    says            TEXT,
    created_at      INTEGER NOT NULL,
    joins           INTEGER NOT NULL DEFAULT 0,
    -- Whether whoever sent it was told its id. A start takes those whose gate died before for gone, until they ask again.
    told            INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1)),
    CHECK ((agent IS NULL) <> (proposer IS NULL)),
    CHECK ((agent IS NULL) = (run IS NULL))
) STRICT;
CREATE INDEX calls_by_key ON calls (agent, call_key) WHERE call_key IS NOT NULL;
CREATE INDEX calls_by_payload ON calls (agent, payload_sha256);

CREATE TABLE requests (
    request         TEXT PRIMARY KEY,
    call            TEXT NOT NULL UNIQUE REFERENCES calls (call),
    tool            TEXT NOT NULL,
    state           TEXT NOT NULL CHECK (state IN
                        ('pending', 'approved', 'consumed', 'denied', 'expired', 'withdrawn', 'stale', 'revoked')),
    request_sha256  TEXT NOT NULL,
    args_sha256     TEXT NOT NULL,
    row_sha256      TEXT NOT NULL,
    business_sha256 TEXT,
    effect_open     INTEGER NOT NULL CHECK (effect_open IN (0, 1)),
    position        INTEGER NOT NULL REFERENCES records (position) DEFERRABLE INITIALLY DEFERRED,
    created_at      INTEGER NOT NULL,
    waits_until     INTEGER NOT NULL,
    expires_max_at  INTEGER NOT NULL,
    quorum_at       INTEGER,
    ended_at        INTEGER,
    -- Why it ended, for its agent.
    end_code        TEXT,
    denial_kind     TEXT,
    denial_note     TEXT,
    denial_role     TEXT,
    -- Whose agent is gone without having had the call's id: until when it may come back.
    orphaned_until  INTEGER,
    -- When it is passed on if it still waits, and the record that says that it was.
    escalate_at     INTEGER,
    escalated_position INTEGER,
    -- The longest by far, and so the last: SQLite reads what stands behind it by way of all its pages.
    frozen          TEXT NOT NULL,
    CHECK (created_at < waits_until AND waits_until <= expires_max_at),
    CHECK (effect_open = 1 OR state NOT IN ('pending', 'approved')),
    CHECK (effect_open = 0 OR state IN ('pending', 'approved', 'consumed')),
    CHECK ((quorum_at IS NULL) OR state IN ('approved', 'consumed', 'expired', 'stale', 'revoked')),
    CHECK ((quorum_at IS NOT NULL) OR state NOT IN ('approved', 'consumed', 'revoked')),
    CHECK ((ended_at IS NULL) = (state IN ('pending', 'approved'))),
    CHECK (state = 'denied' OR (denial_kind IS NULL AND denial_note IS NULL AND denial_role IS NULL))
) STRICT;
CREATE UNIQUE INDEX one_open_business_effect ON requests (business_sha256)
    WHERE effect_open = 1 AND business_sha256 IS NOT NULL;
CREATE INDEX requests_by_business ON requests (business_sha256, created_at) WHERE business_sha256 IS NOT NULL;
CREATE INDEX requests_waiting ON requests (state, waits_until) WHERE state IN ('pending', 'approved');
CREATE INDEX requests_by_age ON requests (created_at);
-- A record's insert asks which requests point at it (a deferred foreign key): without this it scans them all.
CREATE INDEX requests_by_position ON requests (position);
CREATE INDEX requests_orphaned ON requests (orphaned_until) WHERE orphaned_until IS NOT NULL;
CREATE INDEX requests_to_escalate ON requests (escalate_at) WHERE escalate_at IS NOT NULL;
CREATE TRIGGER frozen_never_changes
    BEFORE UPDATE OF request, call, tool, frozen, request_sha256, args_sha256, row_sha256, business_sha256, created_at, expires_max_at ON requests
    BEGIN SELECT RAISE(ABORT, 'a frozen request never changes'); END;
CREATE TRIGGER final_request_never_changes BEFORE UPDATE OF state ON requests
    WHEN OLD.state NOT IN ('pending', 'approved') AND NEW.state <> OLD.state
    BEGIN SELECT RAISE(ABORT, 'a final request never changes'); END;
CREATE TRIGGER requests_are_kept BEFORE DELETE ON requests
    BEGIN SELECT RAISE(ABORT, 'a request is never deleted'); END;

CREATE TABLE decisions (
    request         TEXT NOT NULL REFERENCES requests (request),
    decision_sha256 TEXT NOT NULL,
    decision        TEXT NOT NULL CHECK (decision IN ('approve', 'deny', 'retract', 'revoke', 'more_time')),
    approver        TEXT NOT NULL,
    role            TEXT NOT NULL,
    key_sha256      TEXT NOT NULL,
    envelope        TEXT NOT NULL,
    standing        INTEGER NOT NULL CHECK (standing IN (0, 1)),
    position        INTEGER NOT NULL UNIQUE REFERENCES records (position) DEFERRABLE INITIALLY DEFERRED,
    state_after     TEXT NOT NULL,
    given           INTEGER NOT NULL,
    needed          INTEGER NOT NULL,
    PRIMARY KEY (request, decision_sha256),
    CHECK (standing = 0 OR decision = 'approve')
) STRICT;
CREATE UNIQUE INDEX one_standing_approval ON decisions (request, approver) WHERE standing = 1;
CREATE UNIQUE INDEX one_denial ON decisions (request) WHERE decision = 'deny';
CREATE TRIGGER decisions_never_change BEFORE UPDATE OF decision_sha256, request, decision, approver, role, key_sha256, envelope ON decisions
    BEGIN SELECT RAISE(ABORT, 'a recorded decision never changes'); END;

-- What runs.

CREATE TABLE operations (
    operation       TEXT PRIMARY KEY,
    kind            TEXT NOT NULL CHECK (kind IN ('money', 'write')),
    call            TEXT NOT NULL UNIQUE REFERENCES calls (call),
    request         TEXT UNIQUE REFERENCES requests (request),
    tool            TEXT NOT NULL,
    row_sha256      TEXT NOT NULL,
    payload_sha256  TEXT NOT NULL,
    args            TEXT,
    state           TEXT NOT NULL CHECK (state IN
                        ('reserved', 'executing', 'succeeded', 'failed', 'unknown', 'needs_reconciliation',
                         'partial', 'not_happened', 'not_started')),
    attempt         INTEGER NOT NULL CHECK (attempt >= 0),
    lease_until     INTEGER,
    mint_at         INTEGER,
    next_at         INTEGER,
    first_sent_at   INTEGER,
    before          TEXT,
    result          TEXT,
    result_sha256   TEXT,
    detail          TEXT,
    ended_at        INTEGER,
    CHECK ((kind = 'money') = (request IS NOT NULL)),
    CHECK ((state = 'executing') = (lease_until IS NOT NULL)),
    CHECK ((attempt = 0) = (first_sent_at IS NULL)),
    CHECK ((attempt = 0) = (state IN ('reserved', 'not_started'))),
    CHECK ((result IS NULL) = (result_sha256 IS NULL)),
    CHECK ((ended_at IS NOT NULL) = (state IN ('succeeded', 'failed', 'partial', 'not_happened', 'not_started')))
) STRICT;
CREATE INDEX operations_open ON operations (state, kind) WHERE state IN ('reserved', 'executing', 'unknown', 'needs_reconciliation');
CREATE TRIGGER final_operation_never_changes BEFORE UPDATE OF state, attempt, result ON operations
    WHEN OLD.state IN ('succeeded', 'failed', 'partial', 'not_happened', 'not_started')
    BEGIN SELECT RAISE(ABORT, 'a final operation never changes'); END;
CREATE TRIGGER attempts_never_fall BEFORE UPDATE OF attempt ON operations WHEN NEW.attempt < OLD.attempt
    BEGIN SELECT RAISE(ABORT, 'an attempt never falls'); END;
CREATE TRIGGER operations_are_kept BEFORE DELETE ON operations
    BEGIN SELECT RAISE(ABORT, 'an operation is never deleted'); END;

CREATE TABLE tokens (
    request         TEXT NOT NULL REFERENCES requests (request),
    jti_sha256      TEXT NOT NULL,
    operation       TEXT NOT NULL REFERENCES operations (operation),
    attempt         INTEGER NOT NULL CHECK (attempt >= 1),
    audience        TEXT NOT NULL,
    args_sha256     TEXT NOT NULL,
    issued_at       INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('minted', 'redeemed', 'dead')),
    redeemed_at     INTEGER,
    PRIMARY KEY (request, jti_sha256),
    CHECK ((redeemed_at IS NOT NULL) = (state = 'redeemed')),
    CHECK (issued_at < expires_at)
) STRICT;
CREATE UNIQUE INDEX one_token_an_attempt ON tokens (request, attempt) WHERE state <> 'dead';
CREATE TRIGGER used_tokens_never_change BEFORE UPDATE ON tokens WHEN OLD.state <> 'minted'
    BEGIN SELECT RAISE(ABORT, 'a used token never changes'); END;

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
