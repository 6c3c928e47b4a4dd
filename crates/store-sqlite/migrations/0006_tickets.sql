-- Seats of events: what is put on sale, which seats are sold, who has how many. What is held is not here: a hold never changes
-- a durable count.

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
    -- Counts the changes: the waiting room tells new settings from old ones that arrive late.
    revision           INTEGER NOT NULL
) STRICT;

-- The seats of an event are written with it and never again, so whoever has read them may keep them.
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
    -- No hold is ever confirmed twice, whatever else goes wrong. Also tells what became of it.
    hold_id      BLOB NOT NULL CONSTRAINT seat_reservation_hold UNIQUE,
    event_id     INTEGER NOT NULL CONSTRAINT seat_reservation_event REFERENCES ticket_event (id),
    user_id      INTEGER NOT NULL,
    total_price  INTEGER NOT NULL CONSTRAINT seat_reservation_total_price CHECK (total_price >= 0),
    currency     TEXT NOT NULL,
    reserved_at  INTEGER NOT NULL,
    cancelled_at INTEGER
) STRICT;
-- A customer's own, in the order of their pages.
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

-- A seat has one row here while it is reserved. That there cannot be two is the last line against selling it twice, never the
-- first. A seat's number is its event's times a million, plus its place: the seats of an event lie together.
CREATE TABLE sold_seat (
    seat_id        INTEGER PRIMARY KEY,
    reservation_id INTEGER NOT NULL CONSTRAINT sold_seat_reservation REFERENCES seat_reservation (id)
) STRICT;

CREATE TABLE event_buyer (
    event_id       INTEGER NOT NULL CONSTRAINT event_buyer_event REFERENCES ticket_event (id),
    user_id        INTEGER NOT NULL,
    reserved_count INTEGER NOT NULL CONSTRAINT event_buyer_reserved_count CHECK (reserved_count > 0),
    CONSTRAINT event_buyer_pk PRIMARY KEY (event_id, user_id)
) STRICT, WITHOUT ROWID;

-- Holds are written by a server that has the database to itself; those that share it keep them elsewhere. Which seats are
-- held is worked out in memory from the live ones.
CREATE TABLE seat_hold (
    id          BLOB CONSTRAINT seat_hold_pk PRIMARY KEY,
    user_id     INTEGER NOT NULL,
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
