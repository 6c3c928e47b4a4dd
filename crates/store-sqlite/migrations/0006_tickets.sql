-- Events and seats: catalog, sold seats, seats per customer. Held seats are not here: a hold never changes a durable count.

CREATE TABLE ticket_event (
    id                 INTEGER PRIMARY KEY,
    currency           TEXT NOT NULL,
    seat_count         INTEGER NOT NULL CONSTRAINT ticket_event_seat_count CHECK (seat_count > 0),
    name               TEXT NOT NULL,
    starts_at          INTEGER,
    sales_open_at      INTEGER,
    max_concurrent     INTEGER NOT NULL CONSTRAINT ticket_event_max_concurrent CHECK (max_concurrent >= 0),
    queue_enabled      INTEGER NOT NULL CONSTRAINT ticket_event_queue_enabled CHECK (queue_enabled BETWEEN 0 AND 1),
    max_seats_per_user INTEGER NOT NULL,
    paused             INTEGER NOT NULL CONSTRAINT ticket_event_paused CHECK (paused BETWEEN 0 AND 1),
    -- Number of changes: lets the waiting room ignore outdated settings that arrive late.
    revision           INTEGER NOT NULL
) STRICT;

-- Seats are written with their event and never change, so they can be cached.
CREATE TABLE seat_plan (
    event_id   INTEGER PRIMARY KEY
        CONSTRAINT seat_plan_event REFERENCES ticket_event (id),
    seat_count INTEGER NOT NULL
) STRICT;

CREATE TABLE seat (
    event_id INTEGER NOT NULL CONSTRAINT seat_seat_plan REFERENCES seat_plan (event_id),
    line_no  INTEGER NOT NULL,
    label    TEXT NOT NULL,
    section  TEXT,
    price    INTEGER NOT NULL CONSTRAINT seat_price CHECK (price >= 0),
    CONSTRAINT seat_pk PRIMARY KEY (event_id, line_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE event_sales (
    event_id       INTEGER PRIMARY KEY
        CONSTRAINT event_sales_event REFERENCES ticket_event (id),
    reserved_count INTEGER NOT NULL CONSTRAINT event_sales_reserved_count CHECK (reserved_count >= 0)
) STRICT;

CREATE TABLE seat_reservation (
    id           INTEGER PRIMARY KEY,
    -- A hold is confirmed at most once. Also used to look up the record of a hold.
    hold_id      BLOB NOT NULL CONSTRAINT seat_reservation_hold UNIQUE,
    event_id     INTEGER NOT NULL CONSTRAINT seat_reservation_event REFERENCES ticket_event (id),
    user_id      TEXT    NOT NULL,
    total_price  INTEGER NOT NULL CONSTRAINT seat_reservation_total_price CHECK (total_price >= 0),
    currency     TEXT NOT NULL,
    reserved_at  INTEGER NOT NULL,
    cancelled_at INTEGER
) STRICT;
-- List by customer, in page order.
CREATE INDEX seat_reservation_by_user ON seat_reservation (user_id);

CREATE TABLE seat_reservation_seat (
    reservation_id INTEGER NOT NULL CONSTRAINT seat_reservation_seat_reservation REFERENCES seat_reservation (id),
    line_no        INTEGER NOT NULL,
    seat_id        INTEGER NOT NULL,
    label          TEXT NOT NULL,
    section        TEXT,
    price          INTEGER NOT NULL,
    CONSTRAINT seat_reservation_seat_pk PRIMARY KEY (reservation_id, line_no)
) STRICT, WITHOUT ROWID;

-- One row per reserved seat. The primary key is the last safeguard against selling a seat twice; the engine refuses first. A
-- seat's number is its event's times a million plus its position, so the seats of an event lie together.
CREATE TABLE sold_seat (
    seat_id        INTEGER PRIMARY KEY,
    reservation_id INTEGER NOT NULL CONSTRAINT sold_seat_reservation REFERENCES seat_reservation (id)
) STRICT;

CREATE TABLE event_buyer (
    event_id       INTEGER NOT NULL CONSTRAINT event_buyer_event REFERENCES ticket_event (id),
    user_id        TEXT    NOT NULL,
    reserved_count INTEGER NOT NULL CONSTRAINT event_buyer_reserved_count CHECK (reserved_count > 0),
    CONSTRAINT event_buyer_pk PRIMARY KEY (event_id, user_id)
) STRICT, WITHOUT ROWID;

-- Written by a server that owns the database; servers that share it keep holds in Redis. Held seats are known in memory from
-- live holds.
CREATE TABLE seat_hold (
    id          BLOB CONSTRAINT seat_hold_pk PRIMARY KEY,
    user_id     TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    event_id    INTEGER NOT NULL,
    total_price INTEGER NOT NULL,
    currency    TEXT NOT NULL,
    state       TEXT NOT NULL,
    record_id   INTEGER,
    replaced_by BLOB,
    CONSTRAINT seat_hold_state
        CHECK (state = 'HELD' OR state = 'CONFIRMED' OR state = 'CANCELLED' OR state = 'REPLACED'),
    CONSTRAINT seat_hold_confirmed CHECK ((state = 'CONFIRMED') = (record_id IS NOT NULL)),
    CONSTRAINT seat_hold_replaced CHECK ((state = 'REPLACED') = (replaced_by IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE seat_hold_seat (
    hold_id BLOB NOT NULL CONSTRAINT seat_hold_seat_hold REFERENCES seat_hold (id) ON DELETE CASCADE,
    line_no INTEGER NOT NULL,
    seat_id INTEGER NOT NULL,
    label   TEXT NOT NULL,
    section TEXT,
    price   INTEGER NOT NULL,
    CONSTRAINT seat_hold_seat_pk PRIMARY KEY (hold_id, line_no)
) STRICT, WITHOUT ROWID;
