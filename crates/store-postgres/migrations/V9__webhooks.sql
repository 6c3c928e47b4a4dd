-- Webhooks: subscriptions and deliveries. They belong to the notify service.

CREATE TABLE webhook (
    id          bigint CONSTRAINT webhook_pk PRIMARY KEY,
    url         text NOT NULL,
    -- Prefixes of event types, separated by commas; empty for all.
    types       text NOT NULL,
    secret      text NOT NULL,
    created_at  timestamptz NOT NULL,
    -- Last event of the outbox when the webhook was created.
    told_after  bigint NOT NULL,
    disabled_at timestamptz,
    version     bigint NOT NULL DEFAULT 0
);

-- Events with deliveries, each stored once for all its deliveries. The row also records that the event was processed.
CREATE TABLE webhook_event (
    event_id   text CONSTRAINT webhook_event_pk PRIMARY KEY,
    event_type text NOT NULL,
    at         timestamptz NOT NULL,
    data       text NOT NULL,
    deliveries integer NOT NULL CONSTRAINT webhook_event_deliveries CHECK (deliveries > 0),
    version    bigint NOT NULL DEFAULT 0
);

-- No foreign key to the webhook: deliveries of a deleted webhook are dropped when they become due.
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
-- Log of a webhook, in page order.
CREATE INDEX webhook_delivery_by_webhook ON webhook_delivery (webhook_id, id);

-- Pending deliveries by webhook, earliest first, so that a long queue of one webhook delays no other.
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
