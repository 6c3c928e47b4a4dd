-- Position of the outbox relay per partition. An event at or below the position was published unless it is listed as failed.
CREATE TABLE outbox_relay (
    partition_no INTEGER PRIMARY KEY,
    sent_up_to   INTEGER NOT NULL,
    leased_by    INTEGER NOT NULL,
    leased_until INTEGER NOT NULL
) STRICT;

CREATE TABLE outbox_trouble (
    outbox_id    INTEGER PRIMARY KEY,
    partition_no INTEGER NOT NULL,
    retry_count  INTEGER NOT NULL,
    next_try_at  INTEGER NOT NULL,
    failed       INTEGER NOT NULL CONSTRAINT outbox_trouble_failed CHECK (failed BETWEEN 0 AND 1)
) STRICT;
