-- Tee times: three services, each with its own tables. They communicate by messages only, so no foreign key leads from one
-- service's table to another's.

-- The course service.

CREATE TABLE courses (
    id        INTEGER PRIMARY KEY,
    name      TEXT NOT NULL,
    time_zone TEXT NOT NULL
) STRICT;

CREATE TABLE game_time_slots (
    id             INTEGER PRIMARY KEY,
    course_id      INTEGER NOT NULL CONSTRAINT game_time_slots_course REFERENCES courses (id),
    slot_date      TEXT NOT NULL,
    start_minute   INTEGER NOT NULL CONSTRAINT game_time_slots_start CHECK (start_minute BETWEEN 0 AND 1439),
    tee_off        INTEGER NOT NULL,
    max_players    INTEGER NOT NULL,
    price          INTEGER NOT NULL CONSTRAINT game_time_slots_price CHECK (price >= 0),
    currency       TEXT NOT NULL,
    booked_players INTEGER NOT NULL,
    closed         INTEGER NOT NULL,
    slot_version   INTEGER NOT NULL,
    -- Last safeguard against overselling; the engine refuses first.
    CONSTRAINT game_time_slots_not_oversold CHECK (booked_players BETWEEN 0 AND max_players)
) STRICT;

-- One slot per course and time; also lists the slots of a day in order.
CREATE TABLE game_time_slot_time (
    course_id    INTEGER NOT NULL,
    slot_date    TEXT NOT NULL,
    start_minute INTEGER NOT NULL,
    slot_id      INTEGER NOT NULL CONSTRAINT game_time_slot_time_slot REFERENCES game_time_slots (id),
    CONSTRAINT game_time_slot_time_pk PRIMARY KEY (course_id, slot_date, start_minute)
) STRICT, WITHOUT ROWID;

-- Decision about a booking's places. Kept for good: without it a second decision would be possible.
CREATE TABLE processed_slot_reservations (
    booking_id   INTEGER PRIMARY KEY,
    slot_id      INTEGER NOT NULL,
    players      INTEGER NOT NULL,
    state        TEXT NOT NULL
        CONSTRAINT processed_slot_reservations_state CHECK (state = 'RESERVED' OR state = 'REFUSED' OR state = 'RELEASED'),
    slot_version INTEGER,
    reason       TEXT,
    CONSTRAINT processed_slot_reservations_reserved CHECK ((state = 'RESERVED') = (slot_version IS NOT NULL)),
    CONSTRAINT processed_slot_reservations_refused CHECK ((state = 'REFUSED') = (reason IS NOT NULL))
) STRICT;

-- The booking service.

CREATE TABLE bookings (
    id             INTEGER PRIMARY KEY,
    user_id        TEXT    NOT NULL,
    slot_id        INTEGER NOT NULL,
    players        INTEGER NOT NULL CONSTRAINT bookings_players CHECK (players > 0),
    unit_price     INTEGER NOT NULL,
    total_price    INTEGER NOT NULL,
    currency       TEXT NOT NULL,
    tee_off        INTEGER NOT NULL,
    refund_policy  TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    deadline       INTEGER NOT NULL,
    status         TEXT NOT NULL CONSTRAINT bookings_status
        CHECK (status = 'PENDING' OR status = 'CONFIRMED' OR status = 'COMPLETED' OR status = 'CANCELLED' OR status = 'NO_SHOW' OR status = 'FAILED'),
    status_at      INTEGER,
    cancelled_by   TEXT,
    refund_percent INTEGER CONSTRAINT bookings_refund_percent CHECK (refund_percent BETWEEN 0 AND 100),
    refund_amount  INTEGER,
    refund_rule    TEXT,
    failure_reason TEXT,
    released_at    INTEGER,
    revision       INTEGER NOT NULL,
    CONSTRAINT bookings_total CHECK (total_price = unit_price * players),
    CONSTRAINT bookings_failed CHECK ((status = 'FAILED') = (failure_reason IS NOT NULL))
) STRICT;
-- List by customer, in page order.
CREATE INDEX bookings_by_user ON bookings (user_id);
-- Pending bookings, for the sweep. A partial index, so it stays small.
CREATE INDEX bookings_pending ON bookings (id) WHERE status = 'PENDING';

CREATE TABLE booking_idempotency_key (
    user_id    TEXT    NOT NULL,
    key        TEXT NOT NULL,
    booking_id INTEGER NOT NULL CONSTRAINT booking_idempotency_key_booking REFERENCES bookings (id),
    slot_id    INTEGER NOT NULL,
    players    INTEGER NOT NULL,
    CONSTRAINT booking_idempotency_key_pk PRIMARY KEY (user_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE booking_history (
    booking_id INTEGER NOT NULL CONSTRAINT booking_history_booking REFERENCES bookings (id),
    number     INTEGER NOT NULL,
    action     TEXT NOT NULL,
    at         INTEGER NOT NULL,
    done_by    TEXT NOT NULL,
    reason     TEXT,
    CONSTRAINT booking_history_pk PRIMARY KEY (booking_id, number)
) STRICT, WITHOUT ROWID;

-- The booking service's copy of the slots.
CREATE TABLE game_time_slot_cache (
    slot_id      INTEGER PRIMARY KEY,
    course_id    INTEGER NOT NULL,
    tee_off      INTEGER NOT NULL,
    max_players  INTEGER NOT NULL,
    price        INTEGER NOT NULL,
    currency     TEXT NOT NULL,
    closed       INTEGER NOT NULL,
    slot_version INTEGER NOT NULL
) STRICT;

-- Pending and confirmed bookings by slot.
CREATE TABLE open_booking (
    slot_id      INTEGER NOT NULL,
    booking_id   INTEGER NOT NULL CONSTRAINT open_booking_booking REFERENCES bookings (id),
    slot_version INTEGER NOT NULL,
    CONSTRAINT open_booking_pk PRIMARY KEY (slot_id, booking_id)
) STRICT, WITHOUT ROWID;

-- The notify service.

CREATE TABLE notification (
    id         INTEGER PRIMARY KEY,
    booking_id INTEGER NOT NULL,
    user_id    TEXT    NOT NULL,
    kind       TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX notification_by_user ON notification (user_id);

-- One notification per booking and type.
CREATE TABLE notification_told (
    booking_id      INTEGER NOT NULL,
    kind            TEXT NOT NULL,
    notification_id INTEGER NOT NULL CONSTRAINT notification_told_notification REFERENCES notification (id),
    CONSTRAINT notification_told_pk PRIMARY KEY (booking_id, kind)
) STRICT, WITHOUT ROWID;

-- Inbox: messages processed by each service, recorded in the commit of their effect.
CREATE TABLE message_inbox (
    service     TEXT NOT NULL,
    subject     TEXT NOT NULL,
    of_number   INTEGER NOT NULL,
    of_version  INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    CONSTRAINT message_inbox_pk PRIMARY KEY (service, subject, of_number, of_version)
) STRICT, WITHOUT ROWID;
