-- Hotel nights.

CREATE TABLE room_type (
    id             INTEGER PRIMARY KEY,
    name           TEXT NOT NULL,
    description    TEXT,
    total_quantity INTEGER NOT NULL CONSTRAINT room_type_total_quantity CHECK (total_quantity >= 0),
    base_price     INTEGER NOT NULL CONSTRAINT room_type_base_price CHECK (base_price >= 0),
    currency       TEXT NOT NULL,
    time_zone      TEXT NOT NULL
) STRICT;

-- Confirmed reservations per night. A night without a row has none and is open.
CREATE TABLE room_type_stock (
    room_type_id   INTEGER NOT NULL CONSTRAINT room_type_stock_room_type REFERENCES room_type (id),
    target_date    TEXT NOT NULL,
    total_quantity INTEGER NOT NULL,
    reserved_count INTEGER NOT NULL,
    closed         INTEGER NOT NULL CONSTRAINT room_type_stock_closed CHECK (closed BETWEEN 0 AND 1),
    CONSTRAINT room_type_stock_pk PRIMARY KEY (room_type_id, target_date),
    -- Last safeguard against overselling; the engine refuses first.
    CONSTRAINT room_type_stock_not_oversold CHECK (reserved_count BETWEEN 0 AND total_quantity)
) STRICT, WITHOUT ROWID;

-- Ids begin with their time: new holds are appended, live ones lie together at the end, and old ones are purged from the front.
-- No other index is needed.
CREATE TABLE stay_hold (
    id             BLOB PRIMARY KEY,
    user_id        TEXT    NOT NULL,
    room_type_id   INTEGER NOT NULL,
    check_in       TEXT NOT NULL,
    check_out      TEXT NOT NULL,
    client_key     TEXT NOT NULL,
    price          INTEGER NOT NULL,
    currency       TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    expires_at     INTEGER NOT NULL,
    state          TEXT NOT NULL,
    reservation_id INTEGER,
    replaced_by    BLOB,
    -- Not `IN (…)`: SQLite would build a temporary table for every row written.
    CONSTRAINT stay_hold_state
        CHECK (state = 'HELD' OR state = 'CONFIRMED' OR state = 'CANCELLED' OR state = 'REPLACED'),
    CONSTRAINT stay_hold_confirmed CHECK ((state = 'CONFIRMED') = (reservation_id IS NOT NULL)),
    CONSTRAINT stay_hold_replaced CHECK ((state = 'REPLACED') = (replaced_by IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE stay_reservation (
    id           INTEGER PRIMARY KEY,
    hold_id      BLOB NOT NULL,
    user_id      TEXT    NOT NULL,
    room_type_id INTEGER NOT NULL CONSTRAINT stay_reservation_room_type REFERENCES room_type (id),
    check_in     TEXT NOT NULL,
    check_out    TEXT NOT NULL,
    price        INTEGER NOT NULL,
    currency     TEXT NOT NULL,
    confirmed_at INTEGER NOT NULL,
    cancelled_at INTEGER
) STRICT;
-- Lists by customer and by room type.
CREATE INDEX stay_reservation_by_user ON stay_reservation (user_id);
CREATE INDEX stay_reservation_by_room_type ON stay_reservation (room_type_id);
-- Cancelled reservations of all customers, for operators. A partial index, so it stays small.
CREATE INDEX stay_reservation_cancelled ON stay_reservation (id) WHERE cancelled_at IS NOT NULL;
