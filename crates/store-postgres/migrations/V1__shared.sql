-- Tables shared by all verticals. `version` counts the writes of a row: servers that share a database do not lock rows they
-- read; they compare versions at commit (optimistic concurrency control).

-- Number of batches committed by a server that owns the database, and the time of the last one. In-memory state is compared
-- with the count, and a batch based on another count is refused (fencing). Servers that share the database increment it once
-- per connection, so that a later owner rebuilds its state. Time never runs backwards behind the last commit, even if the clock
-- was set back while no server ran.
CREATE TABLE commits (
    only_row boolean CONSTRAINT commits_pk PRIMARY KEY CONSTRAINT commits_only_row CHECK (only_row),
    count    bigint NOT NULL,
    last_at  timestamptz NOT NULL
);
INSERT INTO commits VALUES (true, 0, 'epoch');

CREATE TABLE sequence (
    name text CONSTRAINT sequence_pk PRIMARY KEY,
    next bigint NOT NULL CONSTRAINT sequence_next_positive CHECK (next > 0)
);

CREATE TABLE idempotency_key (
    caller      text NOT NULL,
    key         text NOT NULL,
    fingerprint bytea NOT NULL,
    response    bytea NOT NULL,
    expires_at  timestamptz NOT NULL,
    CONSTRAINT idempotency_key_pk PRIMARY KEY (caller, key)
);
-- Index for purging expired rows. It is appended to, so it is cheap.
CREATE INDEX idempotency_key_expires_at ON idempotency_key (expires_at);

-- Transactional outbox: durable events, written in the commit of their cause. Numbers come from `sequence` and are never
-- reused; its row stays locked until the commit, so events become visible in number order. Data is null for events without
-- data; `json` preserves the text as written.
CREATE TABLE outbox (
    id         bigint CONSTRAINT outbox_pk PRIMARY KEY,
    event_type text NOT NULL,
    user_id    text COLLATE "C",
    created_at timestamptz NOT NULL,
    data       json
);

-- Decision of a confirm attempt (two-phase commit): the reservation, or null for an abort. The first write decides; a
-- concurrent one waits for that commit and fails. Purged by the age of the hold.
CREATE TABLE hold_decision (
    hold_id        uuid NOT NULL,
    attempt        integer NOT NULL,
    reservation_id bigint,
    decided_at     timestamptz NOT NULL,
    CONSTRAINT hold_decision_pk PRIMARY KEY (hold_id, attempt)
);

-- The functions below abort a transaction whose statements, COMMIT included, are sent in one round trip, without the client in
-- between. `error.rs` distinguishes their codes.

-- Raises if a batch is not based on the last commit.
CREATE FUNCTION count_commit(expected bigint, committed_at timestamptz) RETURNS timestamptz LANGUAGE plpgsql AS $$
BEGIN
    UPDATE commits SET count = count + 1, last_at = greatest(last_at, committed_at)
    WHERE only_row AND count = expected;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'commit % is not the last one', expected USING ERRCODE = 'UH001';
    END IF;
    RETURN clock_timestamp();
END $$;

-- Raises if a statement affected another number of rows than expected.
CREATE FUNCTION expect_rows(actual bigint, expected bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF actual <> expected THEN
        RAISE EXCEPTION '% rows instead of %', actual, expected USING ERRCODE = 'UH002';
    END IF;
END $$;

-- Raises if rows were read too long ago, as by a server that was paused in between.
CREATE FUNCTION expect_fresh(loaded_at timestamptz, age_max interval) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF clock_timestamp() > loaded_at + age_max THEN
        RAISE EXCEPTION 'rows loaded at % are too old', loaded_at USING ERRCODE = 'UH004';
    END IF;
END $$;

-- Raises if a row has another version than was read; null stands for an absent row.
CREATE FUNCTION expect_version(actual bigint, expected bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF actual IS DISTINCT FROM expected THEN
        RAISE EXCEPTION 'version % instead of %', actual, expected USING ERRCODE = 'UH003';
    END IF;
END $$;
