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
    now_ms          INTEGER NOT NULL CHECK (now_ms >= 0)
) STRICT;
INSERT INTO clock VALUES (1, 0);
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
CREATE TRIGGER records_are_kept BEFORE DELETE ON records
    BEGIN SELECT RAISE(ABORT, 'a record is never deleted'); END;
CREATE TRIGGER leaves_never_change BEFORE UPDATE OF position, leaf ON records
    BEGIN SELECT RAISE(ABORT, 'a leaf never changes'); END;

CREATE TABLE log_nodes (
    level           INTEGER NOT NULL CHECK (level BETWEEN 0 AND 63),
    node            INTEGER NOT NULL CHECK (node >= 0),
    hash            BLOB NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (level, node)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE invites (
    code_sha256     TEXT PRIMARY KEY,
    kind            TEXT NOT NULL CHECK (kind IN ('genesis', 'person')),
    person          TEXT NOT NULL UNIQUE,
    name            TEXT NOT NULL,
    roles           TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    used_at         INTEGER
) STRICT;

CREATE TABLE enrolments (
    person          TEXT PRIMARY KEY REFERENCES invites (person),
    approval_key    TEXT NOT NULL UNIQUE,
    device_key      TEXT NOT NULL UNIQUE,
    device_sha256   TEXT NOT NULL UNIQUE,
    request         TEXT REFERENCES requests (request),
    CHECK (approval_key <> device_key)
) STRICT;

CREATE TABLE agents (
    agent             TEXT PRIMARY KEY,
    owner             TEXT,
    parent            TEXT REFERENCES agents (agent),
    credential_sha256 TEXT NOT NULL UNIQUE,
    run               TEXT NOT NULL UNIQUE,
    created_at        INTEGER NOT NULL,
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
    frozen          TEXT NOT NULL,
    request_sha256  TEXT NOT NULL UNIQUE,
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
    denial_kind     TEXT,
    denial_note     TEXT,
    denial_role     TEXT,
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
CREATE TRIGGER frozen_never_changes
    BEFORE UPDATE OF request, call, tool, frozen, request_sha256, args_sha256, row_sha256, business_sha256, created_at, expires_max_at ON requests
    BEGIN SELECT RAISE(ABORT, 'a frozen request never changes'); END;
CREATE TRIGGER final_request_never_changes BEFORE UPDATE OF state ON requests
    WHEN OLD.state NOT IN ('pending', 'approved') AND NEW.state <> OLD.state
    BEGIN SELECT RAISE(ABORT, 'a final request never changes'); END;
CREATE TRIGGER requests_are_kept BEFORE DELETE ON requests
    BEGIN SELECT RAISE(ABORT, 'a request is never deleted'); END;

CREATE TABLE decision_challenges (
    challenge_sha256 TEXT PRIMARY KEY,
    request          TEXT NOT NULL REFERENCES requests (request),
    key_sha256       TEXT NOT NULL,
    issued_at        INTEGER NOT NULL,
    used_at          INTEGER
) STRICT;
CREATE INDEX decision_challenges_of_key ON decision_challenges (key_sha256, issued_at);

CREATE TABLE decisions (
    decision_sha256 TEXT PRIMARY KEY,
    request         TEXT NOT NULL REFERENCES requests (request),
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
    CHECK (standing = 0 OR decision = 'approve')
) STRICT;
CREATE INDEX decisions_of_request ON decisions (request, position);
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
CREATE INDEX operations_open ON operations (state) WHERE state IN ('reserved', 'executing', 'unknown', 'needs_reconciliation');
CREATE TRIGGER final_operation_never_changes BEFORE UPDATE OF state, attempt, result ON operations
    WHEN OLD.state IN ('succeeded', 'failed', 'partial', 'not_happened', 'not_started')
    BEGIN SELECT RAISE(ABORT, 'a final operation never changes'); END;
CREATE TRIGGER attempts_never_fall BEFORE UPDATE OF attempt ON operations WHEN NEW.attempt < OLD.attempt
    BEGIN SELECT RAISE(ABORT, 'an attempt never falls'); END;
CREATE TRIGGER operations_are_kept BEFORE DELETE ON operations
    BEGIN SELECT RAISE(ABORT, 'an operation is never deleted'); END;

CREATE TABLE tokens (
    jti_sha256      TEXT PRIMARY KEY,
    operation       TEXT NOT NULL REFERENCES operations (operation),
    attempt         INTEGER NOT NULL CHECK (attempt >= 1),
    audience        TEXT NOT NULL,
    args_sha256     TEXT NOT NULL,
    issued_at       INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('minted', 'redeemed', 'dead')),
    redeemed_at     INTEGER,
    CHECK ((redeemed_at IS NOT NULL) = (state = 'redeemed')),
    CHECK (issued_at < expires_at)
) STRICT;
CREATE UNIQUE INDEX one_token_an_attempt ON tokens (operation, attempt) WHERE state <> 'dead';
CREATE TRIGGER used_tokens_never_change BEFORE UPDATE ON tokens WHEN OLD.state <> 'minted'
    BEGIN SELECT RAISE(ABORT, 'a used token never changes'); END;

CREATE TABLE evidence (
    evidence        INTEGER PRIMARY KEY,
    operation       TEXT NOT NULL REFERENCES operations (operation),
    attempt         INTEGER NOT NULL,
    at_ms           INTEGER NOT NULL,
    answer          TEXT NOT NULL,
    result          TEXT,
    detail          TEXT
) STRICT;
