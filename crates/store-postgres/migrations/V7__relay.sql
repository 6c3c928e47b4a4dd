-- Position of the outbox relay per partition. An event at or below the position was published unless it is listed as failed. A
-- partition belongs to one server at a time, by lease.
CREATE TABLE outbox_relay (
    partition_no integer CONSTRAINT outbox_relay_pk PRIMARY KEY,
    sent_up_to   bigint NOT NULL,
    leased_by    bigint NOT NULL,
    leased_until timestamptz NOT NULL,
    version      bigint NOT NULL DEFAULT 0
);

-- Failed events and dead letters. Normally few, so there is no index but the key.
CREATE TABLE outbox_trouble (
    outbox_id    bigint CONSTRAINT outbox_trouble_pk PRIMARY KEY,
    partition_no integer NOT NULL,
    retry_count  integer NOT NULL,
    next_try_at  timestamptz NOT NULL,
    failed       boolean NOT NULL,
    version      bigint NOT NULL DEFAULT 0
);

SELECT make_lock('outbox_relay', ARRAY['partition_no']);
SELECT make_lock('outbox_trouble', ARRAY['outbox_id']);
