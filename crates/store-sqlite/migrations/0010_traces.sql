-- Trace of the request that caused an event, as a `traceparent`.
ALTER TABLE outbox ADD COLUMN trace TEXT;

-- Index for purging old inbox entries. It is appended to, so it is cheap.
CREATE INDEX message_inbox_received_at ON message_inbox (received_at);
