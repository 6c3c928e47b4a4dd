-- Tee times: three services, each with its own tables. They communicate by messages only, so no foreign key leads from one
-- service's table to another's.

-- The course service.

CREATE TABLE courses (
    id        bigint CONSTRAINT courses_pk PRIMARY KEY,
    name      text NOT NULL,
    time_zone text NOT NULL,
    version   bigint NOT NULL DEFAULT 0
);

CREATE TABLE game_time_slots (
    id             bigint CONSTRAINT game_time_slots_pk PRIMARY KEY,
    course_id      bigint NOT NULL CONSTRAINT game_time_slots_course REFERENCES courses (id),
    slot_date      date NOT NULL,
    start_minute   integer NOT NULL CONSTRAINT game_time_slots_start CHECK (start_minute BETWEEN 0 AND 1439),
    tee_off        timestamptz NOT NULL,
    max_players    integer NOT NULL,
    price          bigint NOT NULL CONSTRAINT game_time_slots_price CHECK (price >= 0),
    currency       text NOT NULL,
    booked_players integer NOT NULL,
    closed         boolean NOT NULL,
    slot_version   bigint NOT NULL,
    version        bigint NOT NULL DEFAULT 0,
    -- Last safeguard against overselling; the engine refuses first.
    CONSTRAINT game_time_slots_not_oversold CHECK (booked_players BETWEEN 0 AND max_players)
);

-- One slot per course and time; also lists the slots of a day in order.
CREATE TABLE game_time_slot_time (
    course_id    bigint NOT NULL,
    slot_date    date NOT NULL,
    start_minute integer NOT NULL,
    slot_id      bigint NOT NULL CONSTRAINT game_time_slot_time_slot REFERENCES game_time_slots (id),
    version      bigint NOT NULL DEFAULT 0,
    CONSTRAINT game_time_slot_time_pk PRIMARY KEY (course_id, slot_date, start_minute)
);

-- Decision about a booking's places. Kept for good: without it a second decision would be possible.
CREATE TABLE processed_slot_reservations (
    booking_id   bigint CONSTRAINT processed_slot_reservations_pk PRIMARY KEY,
    slot_id      bigint NOT NULL,
    players      integer NOT NULL,
    state        text NOT NULL
        CONSTRAINT processed_slot_reservations_state CHECK (state IN ('RESERVED', 'REFUSED', 'RELEASED')),
    slot_version bigint,
    reason       text,
    version      bigint NOT NULL DEFAULT 0,
    CONSTRAINT processed_slot_reservations_reserved CHECK ((state = 'RESERVED') = (slot_version IS NOT NULL)),
    CONSTRAINT processed_slot_reservations_refused CHECK ((state = 'REFUSED') = (reason IS NOT NULL))
);

-- The booking service.

CREATE TABLE bookings (
    id             bigint CONSTRAINT bookings_pk PRIMARY KEY,
    user_id        text COLLATE "C" NOT NULL,
    slot_id        bigint NOT NULL,
    players        integer NOT NULL CONSTRAINT bookings_players CHECK (players > 0),
    unit_price     bigint NOT NULL,
    total_price    bigint NOT NULL,
    currency       text NOT NULL,
    tee_off        timestamptz NOT NULL,
    refund_policy  text NOT NULL,
    created_at     timestamptz NOT NULL,
    deadline       timestamptz NOT NULL,
    status         text NOT NULL CONSTRAINT bookings_status
        CHECK (status IN ('PENDING', 'CONFIRMED', 'COMPLETED', 'CANCELLED', 'NO_SHOW', 'FAILED')),
    status_at      timestamptz,
    cancelled_by   text,
    refund_percent integer CONSTRAINT bookings_refund_percent CHECK (refund_percent BETWEEN 0 AND 100),
    refund_amount  bigint,
    refund_rule    text,
    failure_reason text,
    released_at    timestamptz,
    revision       integer NOT NULL,
    version        bigint NOT NULL DEFAULT 0,
    CONSTRAINT bookings_total CHECK (total_price = unit_price * players),
    CONSTRAINT bookings_failed CHECK ((status = 'FAILED') = (failure_reason IS NOT NULL))
);
-- List by customer, in page order.
CREATE INDEX bookings_by_user ON bookings (user_id, id);
-- Pending bookings, for the sweep. A partial index, so it stays small.
CREATE INDEX bookings_pending ON bookings (id) WHERE status = 'PENDING';

CREATE TABLE booking_idempotency_key (
    user_id    text COLLATE "C" NOT NULL,
    key        text NOT NULL,
    booking_id bigint NOT NULL CONSTRAINT booking_idempotency_key_booking REFERENCES bookings (id),
    slot_id    bigint NOT NULL,
    players    integer NOT NULL,
    version    bigint NOT NULL DEFAULT 0,
    CONSTRAINT booking_idempotency_key_pk PRIMARY KEY (user_id, key)
);

CREATE TABLE booking_history (
    booking_id bigint NOT NULL CONSTRAINT booking_history_booking REFERENCES bookings (id),
    number     integer NOT NULL,
    action     text NOT NULL,
    at         timestamptz NOT NULL,
    done_by    text NOT NULL,
    reason     text,
    version    bigint NOT NULL DEFAULT 0,
    CONSTRAINT booking_history_pk PRIMARY KEY (booking_id, number)
);

-- The booking service's copy of the slots.
CREATE TABLE game_time_slot_cache (
    slot_id      bigint CONSTRAINT game_time_slot_cache_pk PRIMARY KEY,
    course_id    bigint NOT NULL,
    tee_off      timestamptz NOT NULL,
    max_players  integer NOT NULL,
    price        bigint NOT NULL,
    currency     text NOT NULL,
    closed       boolean NOT NULL,
    slot_version bigint NOT NULL,
    version      bigint NOT NULL DEFAULT 0
);

-- Pending and confirmed bookings by slot.
CREATE TABLE open_booking (
    slot_id      bigint NOT NULL,
    booking_id   bigint NOT NULL CONSTRAINT open_booking_booking REFERENCES bookings (id),
    slot_version bigint NOT NULL,
    version      bigint NOT NULL DEFAULT 0,
    CONSTRAINT open_booking_pk PRIMARY KEY (slot_id, booking_id)
);

-- The notify service.

CREATE TABLE notification (
    id         bigint CONSTRAINT notification_pk PRIMARY KEY,
    booking_id bigint NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    kind       text NOT NULL,
    created_at timestamptz NOT NULL,
    version    bigint NOT NULL DEFAULT 0
);
CREATE INDEX notification_by_user ON notification (user_id, id);

-- One notification per booking and type.
CREATE TABLE notification_told (
    booking_id      bigint NOT NULL,
    kind            text NOT NULL,
    notification_id bigint NOT NULL CONSTRAINT notification_told_notification REFERENCES notification (id),
    version         bigint NOT NULL DEFAULT 0,
    CONSTRAINT notification_told_pk PRIMARY KEY (booking_id, kind)
);

-- Inbox: messages processed by each service, recorded in the commit of their effect.
CREATE TABLE message_inbox (
    service     text NOT NULL,
    subject     text NOT NULL,
    of_number   bigint NOT NULL,
    of_version  bigint NOT NULL,
    received_at timestamptz NOT NULL,
    version     bigint NOT NULL DEFAULT 0,
    CONSTRAINT message_inbox_pk PRIMARY KEY (service, subject, of_number, of_version)
);

SELECT make_lock('courses', ARRAY['id']);
SELECT make_lock('game_time_slots', ARRAY['id']);
SELECT make_lock('game_time_slot_time', ARRAY['course_id', 'slot_date', 'start_minute']);
SELECT make_lock('processed_slot_reservations', ARRAY['booking_id']);
SELECT make_lock('bookings', ARRAY['id']);
SELECT make_lock('booking_idempotency_key', ARRAY['user_id', 'key']);
SELECT make_lock('booking_history', ARRAY['booking_id', 'number']);
SELECT make_lock('game_time_slot_cache', ARRAY['slot_id']);
SELECT make_lock('open_booking', ARRAY['slot_id', 'booking_id']);
SELECT make_lock('notification', ARRAY['id']);
SELECT make_lock('notification_told', ARRAY['booking_id', 'kind']);
SELECT make_lock('message_inbox', ARRAY['service', 'subject', 'of_number', 'of_version']);
