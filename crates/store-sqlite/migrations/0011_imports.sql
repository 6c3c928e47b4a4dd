-- Notes of messages by the id they came with: not every sender calls them as we do. What was noted so far is not needed:
-- a repeat is harmless, and the notes are kept for a minute.
DROP TABLE message_inbox;
CREATE TABLE message_inbox (
    service     TEXT NOT NULL,
    message_id  TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    CONSTRAINT message_inbox_pk PRIMARY KEY (service, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX message_inbox_received_at ON message_inbox (received_at);

-- Events of bookings that are kept in another store: told here too, and not handed on from here.
ALTER TABLE outbox ADD COLUMN imported INTEGER NOT NULL DEFAULT 0;

-- Which they were, so that each is told once; kept for as long as the events.
CREATE TABLE imported_event (
    message_id  TEXT PRIMARY KEY,
    imported_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX imported_event_imported_at ON imported_event (imported_at);
