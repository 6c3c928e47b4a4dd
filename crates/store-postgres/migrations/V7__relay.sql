-- How far durable events were handed on. Of what was sent nothing is written down but the mark: an event of a partition at or
-- below it was sent, unless it is in trouble. A partition is one server's at a time.
CREATE TABLE outbox_relay (
    partition_no integer CONSTRAINT outbox_relay_pk PRIMARY KEY,
    sent_up_to   bigint NOT NULL,
    leased_by    bigint NOT NULL,
    leased_until timestamptz NOT NULL,
    version      bigint NOT NULL DEFAULT 0
);

-- Few, as long as all goes well; so there is no index but the key.
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
