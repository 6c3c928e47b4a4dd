-- Which request an event is part of, as a `traceparent`.
ALTER TABLE outbox ADD COLUMN trace TEXT;

-- For clearing away old notes. Grows at its end only, so it costs little.
CREATE INDEX message_inbox_received_at ON message_inbox (received_at);
