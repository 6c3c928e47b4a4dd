-- Webhooks: who is told of durable events by HTTP, and what became of it. They belong to the notify service.

CREATE TABLE webhook (
    id          INTEGER PRIMARY KEY,
    url         TEXT NOT NULL,
    -- Beginnings of types, separated by commas; all, if there is none.
    types       TEXT NOT NULL,
    secret      TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    -- The last event of the outbox then.
    told_after  INTEGER NOT NULL,
    disabled_at INTEGER
) STRICT;

-- What is told, once for all who are told; and the note that the event was here.
CREATE TABLE webhook_event (
    event_id   TEXT NOT NULL CONSTRAINT webhook_event_pk PRIMARY KEY,
    event_type TEXT NOT NULL,
    at         INTEGER NOT NULL,
    data       TEXT NOT NULL,
    deliveries INTEGER NOT NULL CONSTRAINT webhook_event_deliveries CHECK (deliveries > 0)
) STRICT, WITHOUT ROWID;

-- Refers to no webhook: what belongs to a deleted one is dropped when its turn comes.
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
-- The log of a webhook, in the order of its pages.
CREATE INDEX webhook_delivery_by_webhook ON webhook_delivery (webhook_id);

-- What is to be tried: of each webhook the earliest first, so that a long line at one holds up no other.
CREATE TABLE webhook_due (
    webhook_id  INTEGER NOT NULL,
    due_at      INTEGER NOT NULL,
    delivery_id INTEGER NOT NULL,
    CONSTRAINT webhook_due_pk PRIMARY KEY (webhook_id, due_at, delivery_id)
) STRICT, WITHOUT ROWID;
