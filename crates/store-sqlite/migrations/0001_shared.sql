-- What every vertical shares. Times are milliseconds since 1970, dates are ISO 8601 text: both sort as they
-- are, and both can be read in a shell.

-- How many batches were committed, and the time of the last one. Readers compare the count with the memory they look at
-- beside the file. Time never runs back behind the last commit, also if the clock was set back while nobody was running.
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
-- For clearing away what has expired. Grows at its end only, so it costs little.
CREATE INDEX idempotency_key_expires_at ON idempotency_key (expires_at);

-- Events that must not be lost, written in the commit of what they tell. Their numbers come from `sequence`: none is ever
-- given twice, also when all older events have been cleared away.
CREATE TABLE outbox (
    id         INTEGER PRIMARY KEY,
    event_type TEXT NOT NULL,
    user_id    INTEGER,
    created_at INTEGER NOT NULL,
    data       TEXT NOT NULL
) STRICT;
