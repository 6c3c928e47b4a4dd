-- Webhooks: who is told of durable events by HTTP, and what became of it. They belong to the notify service.

CREATE TABLE webhook (
    id          bigint CONSTRAINT webhook_pk PRIMARY KEY,
    url         text NOT NULL,
    -- Beginnings of types, separated by commas; all, if there is none.
    types       text NOT NULL,
    secret      text NOT NULL,
    created_at  timestamptz NOT NULL,
    -- The last event of the outbox then.
    told_after  bigint NOT NULL,
    disabled_at timestamptz,
    version     bigint NOT NULL DEFAULT 0
);

-- What is told, once for all who are told; and the note that the event was here.
CREATE TABLE webhook_event (
    event_id   text CONSTRAINT webhook_event_pk PRIMARY KEY,
    event_type text NOT NULL,
    at         timestamptz NOT NULL,
    data       text NOT NULL,
    deliveries integer NOT NULL CONSTRAINT webhook_event_deliveries CHECK (deliveries > 0),
    version    bigint NOT NULL DEFAULT 0
);

-- Refers to no webhook: what belongs to a deleted one is dropped when its turn comes.
CREATE TABLE webhook_delivery (
    id              bigint CONSTRAINT webhook_delivery_pk PRIMARY KEY,
    webhook_id      bigint NOT NULL,
    event_id        text NOT NULL,
    event_type      text NOT NULL,
    created_at      timestamptz NOT NULL,
    status          text NOT NULL CONSTRAINT webhook_delivery_status
        CHECK (status IN ('PENDING', 'DELIVERED', 'FAILED')),
    next_attempt_at timestamptz,
    ended_at        timestamptz,
    attempts        integer NOT NULL,
    attempts_before integer NOT NULL,
    last_status     integer,
    last_error      text,
    version         bigint NOT NULL DEFAULT 0,
    CONSTRAINT webhook_delivery_pending CHECK ((status = 'PENDING') = (next_attempt_at IS NOT NULL)),
    CONSTRAINT webhook_delivery_ended CHECK ((status = 'PENDING') = (ended_at IS NULL))
);
-- The log of a webhook, in the order of its pages.
CREATE INDEX webhook_delivery_by_webhook ON webhook_delivery (webhook_id, id);

-- What is to be tried: of each webhook the earliest first, so that a long line at one holds up no other.
CREATE TABLE webhook_due (
    webhook_id  bigint NOT NULL,
    due_at      timestamptz NOT NULL,
    delivery_id bigint NOT NULL,
    version     bigint NOT NULL DEFAULT 0,
    CONSTRAINT webhook_due_pk PRIMARY KEY (webhook_id, due_at, delivery_id)
);

SELECT make_lock('webhook', ARRAY['id']);
SELECT make_lock('webhook_event', ARRAY['event_id']);
SELECT make_lock('webhook_delivery', ARRAY['id']);
SELECT make_lock('webhook_due', ARRAY['webhook_id', 'due_at', 'delivery_id']);
