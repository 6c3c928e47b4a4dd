-- Inbox entries by the id of the message, whatever its form. Existing entries are dropped: a repeat is harmless, and entries
-- are kept for a minute.
DROP TABLE message_inbox;
CREATE TABLE message_inbox (
    service     TEXT NOT NULL,
    message_id  TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    CONSTRAINT message_inbox_pk PRIMARY KEY (service, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX message_inbox_received_at ON message_inbox (received_at);

-- Events imported from the booking service's store. They are published on the stream of this server and not relayed from here.
ALTER TABLE outbox ADD COLUMN imported INTEGER NOT NULL DEFAULT 0;

-- Ids of imported events, so that each is imported once. Kept as long as the events.
CREATE TABLE imported_event (
    message_id  TEXT PRIMARY KEY,
    imported_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX imported_event_imported_at ON imported_event (imported_at);
