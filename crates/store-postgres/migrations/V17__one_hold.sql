DROP TABLE inventory_reservation, order_hold, stay_hold, room_lock_slot, room_lock, seat_hold_seat, seat_hold;
DROP TABLE hold_decision;

-- Outcomes of confirm attempts of servers that share the database. The first decides.
CREATE TABLE hold_decision (
    hold_id    uuid NOT NULL,
    attempt    integer NOT NULL,
    committed  boolean NOT NULL,
    decided_at timestamptz NOT NULL,
    CONSTRAINT hold_decision_pk PRIMARY KEY (hold_id, attempt)
);

CREATE INDEX hold_decision_by_age ON hold_decision (decided_at);

-- One hold for all verticals: every hold of a server that owns the database, or the confirmed ones of servers that share it. Live
-- holds are found by their end at start, and ended ones by the purge; a confirmed hold is kept as long as its records.
CREATE TABLE hold (
    id          uuid CONSTRAINT hold_pk PRIMARY KEY,
    origin      text NOT NULL,
    created_at  timestamptz NOT NULL,
    currency    text NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    expires_at  timestamptz NOT NULL,
    pay_by      timestamptz,
    ends_at     timestamptz NOT NULL,
    state       text NOT NULL,
    replaced_by uuid,
    revision    integer NOT NULL,
    extensions  integer NOT NULL,
    attempt     integer NOT NULL,
    lines       bytea NOT NULL,
    reference   text,
    metadata    bytea,
    version     bigint NOT NULL DEFAULT 0,
    CONSTRAINT hold_state CHECK (state IN ('HELD', 'CONFIRMED', 'CANCELLED', 'REPLACED')),
    CONSTRAINT hold_replaced CHECK ((state = 'REPLACED') = (replaced_by IS NOT NULL))
);

CREATE INDEX hold_by_end ON hold (ends_at) WHERE state <> 'CONFIRMED';

-- Latest hold of a user on a cart.
CREATE TABLE last_cart_hold (
    user_id    text COLLATE "C" CONSTRAINT last_cart_hold_pk PRIMARY KEY,
    hold_id    uuid NOT NULL,
    kept_until timestamptz NOT NULL,
    version    bigint NOT NULL DEFAULT 0
);

SELECT make_lock('hold', ARRAY['id']);
