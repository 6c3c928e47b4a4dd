-- Webhooks: subscriptions and deliveries. They belong to the notify service.

CREATE TABLE webhook (
    id          INTEGER PRIMARY KEY,
    url         TEXT NOT NULL,
    -- Prefixes of event types, separated by commas; empty for all.
    types       TEXT NOT NULL,
    secret      TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    -- Last event of the outbox when the webhook was created.
    told_after  INTEGER NOT NULL,
    disabled_at INTEGER
) STRICT;

-- Events with deliveries, each stored once for all its deliveries. The row also records that the event was processed.
CREATE TABLE webhook_event (
    event_id   TEXT NOT NULL CONSTRAINT webhook_event_pk PRIMARY KEY,
    event_type TEXT NOT NULL,
    at         INTEGER NOT NULL,
    data       TEXT NOT NULL,
    deliveries INTEGER NOT NULL CONSTRAINT webhook_event_deliveries CHECK (deliveries > 0)
) STRICT, WITHOUT ROWID;

-- No foreign key to the webhook: deliveries of a deleted webhook are dropped when they become due.
CREATE TABLE webhook_delivery (
    id              INTEGER PRIMARY KEY,
    webhook_id      INTEGER NOT NULL,
    event_id        TEXT NOT NULL,
    event_type      TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    status          TEXT NOT NULL CONSTRAINT webhook_delivery_status
        CHECK (status = 'PENDING' OR status = 'DELIVERED' OR status = 'FAILED'),
    next_attempt_at INTEGER,
    ended_at        INTEGER,
    attempts        INTEGER NOT NULL,
    attempts_before INTEGER NOT NULL,
    last_status     INTEGER,
    last_error      TEXT,
    CONSTRAINT webhook_delivery_pending CHECK ((status = 'PENDING') = (next_attempt_at IS NOT NULL)),
    CONSTRAINT webhook_delivery_ended CHECK ((status = 'PENDING') = (ended_at IS NULL))
) STRICT;
-- Log of a webhook, in page order.
CREATE INDEX webhook_delivery_by_webhook ON webhook_delivery (webhook_id);

-- Pending deliveries by webhook, earliest first, so that a long queue of one webhook delays no other.
CREATE TABLE webhook_due (
    webhook_id  INTEGER NOT NULL,
    due_at      INTEGER NOT NULL,
    delivery_id INTEGER NOT NULL,
    CONSTRAINT webhook_due_pk PRIMARY KEY (webhook_id, due_at, delivery_id)
) STRICT, WITHOUT ROWID;
