-- Inbox entries by the id of the message, whatever its form. Existing entries are dropped: a repeat is harmless, and entries
-- are kept for a minute.
DROP TABLE message_inbox;
DROP FUNCTION lock_message_inbox;
CREATE TABLE message_inbox (
    service     text NOT NULL,
    message_id  text NOT NULL,
    received_at timestamptz NOT NULL,
    version     bigint NOT NULL DEFAULT 0,
    CONSTRAINT message_inbox_pk PRIMARY KEY (service, message_id)
);
CREATE INDEX message_inbox_received_at ON message_inbox (received_at);
SELECT make_lock('message_inbox', ARRAY['service', 'message_id']);

-- Events imported from the booking service's database. They are published on the stream of this server and not relayed from
-- here.
ALTER TABLE outbox ADD COLUMN imported boolean NOT NULL DEFAULT false;

-- Ids of imported events, so that each is imported once. Kept as long as the events.
CREATE TABLE imported_event (
    message_id  text CONSTRAINT imported_event_pk PRIMARY KEY,
    imported_at timestamptz NOT NULL,
    version     bigint NOT NULL DEFAULT 0
);
CREATE INDEX imported_event_imported_at ON imported_event (imported_at);
SELECT make_lock('imported_event', ARRAY['message_id']);
