-- What every vertical shares. `version` counts the writes of a row: servers that share a database do not lock what they
-- read, they compare versions when they commit.

-- How many batches were committed by a server that has the database to itself, and the time of the last one. Memory is
-- compared with the count, and a batch that does not build on the last one is refused by it. Servers that share the
-- database count once per connection, so that one alone afterwards does not trust an old memory. Time never runs back
-- behind the last commit, also if the clock was set back while nobody was running.
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
-- For clearing away what has expired. Grows at its end only, so it costs little.
CREATE INDEX idempotency_key_expires_at ON idempotency_key (expires_at);

-- Events that must not be lost, written in the commit of what they tell. Their numbers come from `sequence`: none is ever
-- given twice, and since its row stays locked until the commit, they become visible in their order. An event with
-- nothing to say has no data; `json` keeps the rest as it was written.
CREATE TABLE outbox (
    id         bigint CONSTRAINT outbox_pk PRIMARY KEY,
    event_type text NOT NULL,
    user_id    bigint,
    created_at timestamptz NOT NULL,
    data       json
);

-- What became of an attempt to confirm a hold whose live rows are elsewhere: a reservation, or (null) nothing. Whoever
-- writes first decides; the other waits for the commit and loses. Cleared away by the age of the hold, from the front.
CREATE TABLE hold_decision (
    hold_id        uuid NOT NULL,
    attempt        integer NOT NULL,
    reservation_id bigint,
    decided_at     timestamptz NOT NULL,
    CONSTRAINT hold_decision_pk PRIMARY KEY (hold_id, attempt)
);

-- The functions below stop a transaction whose statements were all sent at once, its COMMIT included: nobody is there
-- to look at the answers in between. Their codes are told apart in `error.rs`.

-- Refuses a batch that does not build on the last commit.
CREATE FUNCTION count_commit(expected bigint, committed_at timestamptz) RETURNS timestamptz LANGUAGE plpgsql AS $$
BEGIN
    UPDATE commits SET count = count + 1, last_at = greatest(last_at, committed_at)
    WHERE only_row AND count = expected;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'commit % is not the last one', expected USING ERRCODE = 'UH001';
    END IF;
    RETURN clock_timestamp();
END $$;

-- Refuses a statement that touched more or fewer rows than it should.
CREATE FUNCTION expect_rows(actual bigint, expected bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF actual <> expected THEN
        RAISE EXCEPTION '% rows instead of %', actual, expected USING ERRCODE = 'UH002';
    END IF;
END $$;

-- Refuses to decide on rows that were read too long ago, by a server that was stopped in between.
CREATE FUNCTION expect_fresh(loaded_at timestamptz, age_max interval) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF clock_timestamp() > loaded_at + age_max THEN
        RAISE EXCEPTION 'rows loaded at % are too old', loaded_at USING ERRCODE = 'UH004';
    END IF;
END $$;

-- Refuses a row that is no longer what was read; null stands for a row that was not there.
CREATE FUNCTION expect_version(actual bigint, expected bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF actual IS DISTINCT FROM expected THEN
        RAISE EXCEPTION 'version % instead of %', actual, expected USING ERRCODE = 'UH003';
    END IF;
END $$;
