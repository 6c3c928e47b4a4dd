-- Tables shared by all verticals. Times are milliseconds since 1970, dates are ISO 8601 text: both sort naturally and are
-- readable in a shell.

-- Number of committed batches, and the time of the last one. Readers compare the count with that of in-memory state. Time never
-- runs backwards behind the last commit, even if the clock was set back while no server ran.
CREATE TABLE commits (
    only_row INTEGER PRIMARY KEY CONSTRAINT commits_only_row CHECK (only_row = 1),
    count    INTEGER NOT NULL,
    last_at  INTEGER NOT NULL
) STRICT;
INSERT INTO commits VALUES (1, 0, 0);

CREATE TABLE sequence (
    name TEXT PRIMARY KEY,
    next INTEGER NOT NULL CONSTRAINT sequence_next_positive CHECK (next > 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency_key (
    caller      TEXT NOT NULL,
    key         TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    response    BLOB NOT NULL,
    expires_at  INTEGER NOT NULL,
    CONSTRAINT idempotency_key_pk PRIMARY KEY (caller, key)
) STRICT, WITHOUT ROWID;
-- Index for purging expired rows. It is appended to, so it is cheap.
CREATE INDEX idempotency_key_expires_at ON idempotency_key (expires_at);

-- Transactional outbox: durable events, written in the commit of their cause. Numbers come from `sequence` and are never
-- reused, even after all older events are purged.
CREATE TABLE outbox (
    id         INTEGER PRIMARY KEY,
    event_type TEXT NOT NULL,
    user_id    TEXT,
    created_at INTEGER NOT NULL,
    data       TEXT NOT NULL
) STRICT;
