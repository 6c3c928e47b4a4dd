DROP TABLE inventory_reservation;
DROP TABLE order_hold;
DROP TABLE stay_hold;
DROP TABLE room_lock_slot;
DROP TABLE room_lock;
DROP TABLE seat_hold_seat;
DROP TABLE seat_hold;

-- One hold for all verticals. Live holds are found by their end at start, and ended ones by the purge; a confirmed hold is kept as
-- long as its records.
CREATE TABLE hold (
    id          BLOB CONSTRAINT hold_pk PRIMARY KEY,
    origin      TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    currency    TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    expires_at  INTEGER NOT NULL,
    pay_by      INTEGER,
    ends_at     INTEGER NOT NULL,
    state       TEXT NOT NULL,
    replaced_by BLOB,
    revision    INTEGER NOT NULL,
    extensions  INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    lines       BLOB NOT NULL,
    reference   TEXT,
    metadata    BLOB,
    CONSTRAINT hold_state
        CHECK (state = 'HELD' OR state = 'CONFIRMED' OR state = 'CANCELLED' OR state = 'REPLACED'),
    CONSTRAINT hold_replaced CHECK ((state = 'REPLACED') = (replaced_by IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX hold_by_end ON hold (ends_at) WHERE state <> 'CONFIRMED';

-- Latest hold of a user on a cart.
CREATE TABLE last_cart_hold (
    user_id    TEXT CONSTRAINT last_cart_hold_pk PRIMARY KEY,
    hold_id    BLOB NOT NULL,
    kept_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
