-- Events and seats: catalog, sold seats, seats per customer. Held seats are not here: a hold never changes a durable count.

CREATE TABLE ticket_event (
    id                 bigint CONSTRAINT ticket_event_pk PRIMARY KEY,
    currency           text NOT NULL,
    seat_count         integer NOT NULL CONSTRAINT ticket_event_seat_count CHECK (seat_count > 0),
    name               text NOT NULL,
    starts_at          timestamptz,
    sales_open_at      timestamptz,
    max_concurrent     integer NOT NULL CONSTRAINT ticket_event_max_concurrent CHECK (max_concurrent >= 0),
    queue_enabled      boolean NOT NULL,
    max_seats_per_user integer NOT NULL,
    paused             boolean NOT NULL,
    -- Number of changes: lets the waiting room ignore outdated settings that arrive late.
    revision           bigint NOT NULL,
    version            bigint NOT NULL DEFAULT 0
);

-- Seats are written with their event and never change, so they can be cached.
CREATE TABLE seat_plan (
    event_id   bigint CONSTRAINT seat_plan_pk PRIMARY KEY
        CONSTRAINT seat_plan_event REFERENCES ticket_event (id),
    seat_count integer NOT NULL,
    version    bigint NOT NULL DEFAULT 0
);

CREATE TABLE seat (
    event_id bigint NOT NULL CONSTRAINT seat_seat_plan REFERENCES seat_plan (event_id),
    line_no  integer NOT NULL,
    label    text NOT NULL,
    section  text,
    price    bigint NOT NULL CONSTRAINT seat_price CHECK (price >= 0),
    CONSTRAINT seat_pk PRIMARY KEY (event_id, line_no)
);

CREATE TABLE event_sales (
    event_id       bigint CONSTRAINT event_sales_pk PRIMARY KEY
        CONSTRAINT event_sales_event REFERENCES ticket_event (id),
    reserved_count integer NOT NULL CONSTRAINT event_sales_reserved_count CHECK (reserved_count >= 0),
    version        bigint NOT NULL DEFAULT 0
);

CREATE TABLE seat_reservation (
    id           bigint CONSTRAINT seat_reservation_pk PRIMARY KEY,
    -- A hold is confirmed at most once. Also used to look up the record of a hold.
    hold_id      uuid NOT NULL CONSTRAINT seat_reservation_hold UNIQUE,
    event_id     bigint NOT NULL CONSTRAINT seat_reservation_event REFERENCES ticket_event (id),
    user_id      text COLLATE "C" NOT NULL,
    total_price  bigint NOT NULL CONSTRAINT seat_reservation_total_price CHECK (total_price >= 0),
    currency     text NOT NULL,
    reserved_at  timestamptz NOT NULL,
    cancelled_at timestamptz,
    version      bigint NOT NULL DEFAULT 0
);
-- List by customer, in page order.
CREATE INDEX seat_reservation_by_user ON seat_reservation (user_id, id);

CREATE TABLE seat_reservation_seat (
    reservation_id bigint NOT NULL CONSTRAINT seat_reservation_seat_reservation REFERENCES seat_reservation (id),
    line_no        integer NOT NULL,
    seat_id        bigint NOT NULL,
    label          text NOT NULL,
    section        text,
    price          bigint NOT NULL,
    CONSTRAINT seat_reservation_seat_pk PRIMARY KEY (reservation_id, line_no)
);

-- One row per reserved seat. The primary key is the last safeguard against selling a seat twice; the engine refuses first. A
-- seat's number is its event's times a million plus its position, so the seats of an event lie together.
CREATE TABLE sold_seat (
    seat_id        bigint CONSTRAINT sold_seat_pk PRIMARY KEY,
    reservation_id bigint NOT NULL CONSTRAINT sold_seat_reservation REFERENCES seat_reservation (id),
    version        bigint NOT NULL DEFAULT 0
);

CREATE TABLE event_buyer (
    event_id       bigint NOT NULL CONSTRAINT event_buyer_event REFERENCES ticket_event (id),
    user_id        text COLLATE "C" NOT NULL,
    reserved_count integer NOT NULL CONSTRAINT event_buyer_reserved_count CHECK (reserved_count > 0),
    version        bigint NOT NULL DEFAULT 0,
    CONSTRAINT event_buyer_pk PRIMARY KEY (event_id, user_id)
);

-- Written by a server that owns the database; servers that share it keep holds in Redis. Held seats are known in memory from
-- live holds.
CREATE TABLE seat_hold (
    id          uuid CONSTRAINT seat_hold_pk PRIMARY KEY,
    user_id     text COLLATE "C" NOT NULL,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    event_id    bigint NOT NULL,
    total_price bigint NOT NULL,
    currency    text NOT NULL,
    state       text NOT NULL,
    record_id   bigint,
    replaced_by uuid,
    version     bigint NOT NULL DEFAULT 0,
    CONSTRAINT seat_hold_state CHECK (state IN ('HELD', 'CONFIRMED', 'CANCELLED', 'REPLACED')),
    CONSTRAINT seat_hold_confirmed CHECK ((state = 'CONFIRMED') = (record_id IS NOT NULL)),
    CONSTRAINT seat_hold_replaced CHECK ((state = 'REPLACED') = (replaced_by IS NOT NULL))
);

CREATE TABLE seat_hold_seat (
    hold_id uuid NOT NULL CONSTRAINT seat_hold_seat_hold REFERENCES seat_hold (id) ON DELETE CASCADE,
    line_no integer NOT NULL,
    seat_id bigint NOT NULL,
    label   text NOT NULL,
    section text,
    price   bigint NOT NULL,
    CONSTRAINT seat_hold_seat_pk PRIMARY KEY (hold_id, line_no)
);

-- Signing secrets of servers that share the database, generated by the first of them.
CREATE TABLE secret (
    name  text CONSTRAINT secret_pk PRIMARY KEY,
    value bytea NOT NULL
);

SELECT make_lock('ticket_event', ARRAY['id']);
SELECT make_lock('seat_plan', ARRAY['event_id']);
SELECT make_lock('event_sales', ARRAY['event_id']);
SELECT make_lock('seat_reservation', ARRAY['id']);
SELECT make_lock('sold_seat', ARRAY['seat_id']);
SELECT make_lock('event_buyer', ARRAY['event_id', 'user_id']);
