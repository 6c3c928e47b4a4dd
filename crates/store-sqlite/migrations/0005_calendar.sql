-- Rooms by the hour: slots are generated ahead of time, each with its price. A lock is not written to its slot, because it
-- expires by time.

CREATE TABLE room (
    id              INTEGER PRIMARY KEY,
    name            TEXT NOT NULL,
    time_zone       TEXT NOT NULL,
    country         TEXT NOT NULL,
    currency        TEXT NOT NULL,
    slot_minutes    INTEGER NOT NULL CONSTRAINT room_slot_minutes CHECK (slot_minutes BETWEEN 5 AND 1440),
    base_price      INTEGER NOT NULL CONSTRAINT room_base_price CHECK (base_price >= 0),
    -- Weekdays as bits, times, percent; separated by commas.
    peak            TEXT NOT NULL,
    holiday_percent INTEGER NOT NULL CONSTRAINT room_holiday_percent CHECK (holiday_percent >= 0),
    is_active       INTEGER NOT NULL CONSTRAINT room_is_active CHECK (is_active BETWEEN 0 AND 1),
    -- Last generated day, and first day whose slots are kept.
    generated_until TEXT,
    kept_from       TEXT
) STRICT;

-- Hours are read and written as a whole: Monday to Sunday, separated by semicolons. The last three columns are the days that
-- remain to be rebuilt.
CREATE TABLE operating_hours (
    room_id            INTEGER PRIMARY KEY CONSTRAINT operating_hours_room REFERENCES room (id),
    weekly             TEXT NOT NULL,
    exceptions         TEXT NOT NULL,
    rebuild_next       TEXT,
    rebuild_until      TEXT,
    rebuild_again_from TEXT,
    CONSTRAINT operating_hours_rebuild CHECK ((rebuild_next IS NULL) = (rebuild_until IS NULL))
) STRICT;
-- Rooms to be rebuilt, polled every half minute. A partial index, so it stays small.
CREATE INDEX operating_hours_to_rebuild ON operating_hours (room_id) WHERE rebuild_next IS NOT NULL;

CREATE TABLE holiday (
    country      TEXT NOT NULL,
    holiday_date TEXT NOT NULL,
    CONSTRAINT holiday_pk PRIMARY KEY (country, holiday_date)
) STRICT, WITHOUT ROWID;

CREATE TABLE room_reservation (
    id           INTEGER PRIMARY KEY,
    -- A lock is confirmed at most once. Also used to look up the record of a lock.
    hold_id      BLOB NOT NULL CONSTRAINT room_reservation_hold UNIQUE,
    room_id      INTEGER NOT NULL CONSTRAINT room_reservation_room REFERENCES room (id),
    user_id      TEXT    NOT NULL,
    total_price  INTEGER NOT NULL,
    currency     TEXT NOT NULL,
    first_date   TEXT NOT NULL,
    last_date    TEXT NOT NULL,
    confirmed_at INTEGER NOT NULL,
    cancelled_at INTEGER
) STRICT;
-- Lists by customer and by room, in page order.
CREATE INDEX room_reservation_by_user ON room_reservation (user_id);
CREATE INDEX room_reservation_by_room ON room_reservation (room_id);

CREATE TABLE room_reservation_slot (
    reservation_id INTEGER NOT NULL CONSTRAINT room_reservation_slot_reservation REFERENCES room_reservation (id),
    line_no        INTEGER NOT NULL,
    slot_date      TEXT NOT NULL,
    slot_time      INTEGER NOT NULL,
    minutes        INTEGER NOT NULL,
    price          INTEGER NOT NULL,
    CONSTRAINT room_reservation_slot_pk PRIMARY KEY (reservation_id, line_no)
) STRICT, WITHOUT ROWID;

-- `slot_time` is in minutes after midnight, in the room's time zone. With millions of rows there is no index but the key, and
-- no foreign key to check for each new row.
CREATE TABLE time_slots (
    room_id        INTEGER NOT NULL,
    slot_date      TEXT NOT NULL,
    slot_time      INTEGER NOT NULL CONSTRAINT time_slots_time CHECK (slot_time BETWEEN 0 AND 1439),
    minutes        INTEGER NOT NULL CONSTRAINT time_slots_minutes CHECK (minutes > 0),
    status         TEXT NOT NULL CONSTRAINT time_slots_status
        CHECK (status = 'AVAILABLE' OR status = 'RESERVED' OR status = 'BLOCKED' OR status = 'MAINTENANCE'),
    reservation_id INTEGER,
    base_price     INTEGER NOT NULL,
    final_price    INTEGER NOT NULL,
    is_peak_time   INTEGER NOT NULL CONSTRAINT time_slots_is_peak_time CHECK (is_peak_time BETWEEN 0 AND 1),
    is_holiday     INTEGER NOT NULL CONSTRAINT time_slots_is_holiday CHECK (is_holiday BETWEEN 0 AND 1),
    outside_hours  INTEGER NOT NULL CONSTRAINT time_slots_outside_hours CHECK (outside_hours BETWEEN 0 AND 1),
    CONSTRAINT time_slots_reserved CHECK ((status = 'RESERVED') = (reservation_id IS NOT NULL)),
    CONSTRAINT time_slots_pk PRIMARY KEY (room_id, slot_date, slot_time)
) STRICT, WITHOUT ROWID;

-- Last safeguard: a reserved slot changes by cancellation only, after that is recorded. It is deleted only when its room no
-- longer keeps its day. The flag for being outside the hours may change at any time.
CREATE TRIGGER time_slots_guard_update BEFORE UPDATE ON time_slots
WHEN OLD.reservation_id IS NOT NULL
    AND (NEW.reservation_id IS NOT OLD.reservation_id OR NEW.status <> OLD.status OR NEW.minutes <> OLD.minutes
        OR NEW.base_price <> OLD.base_price OR NEW.final_price <> OLD.final_price
        OR NEW.room_id <> OLD.room_id OR NEW.slot_date <> OLD.slot_date OR NEW.slot_time <> OLD.slot_time)
    AND NOT EXISTS (SELECT 1 FROM room_reservation WHERE id = OLD.reservation_id AND cancelled_at IS NOT NULL)
BEGIN
    SELECT RAISE(ABORT, 'a reserved slot changes only by cancellation');
END;

CREATE TRIGGER time_slots_guard_delete BEFORE DELETE ON time_slots
WHEN OLD.reservation_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM room_reservation WHERE id = OLD.reservation_id AND cancelled_at IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM room WHERE id = OLD.room_id AND kept_from > OLD.slot_date)
BEGIN
    SELECT RAISE(ABORT, 'a reserved slot changes only by cancellation');
END;

-- Log of generation runs; append-only.
CREATE TABLE slot_generation_log (
    room_id         INTEGER NOT NULL CONSTRAINT slot_generation_log_room REFERENCES room (id),
    id              INTEGER NOT NULL,
    generation_date TEXT NOT NULL,
    slots_created   INTEGER NOT NULL,
    generated_until TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    CONSTRAINT slot_generation_log_pk PRIMARY KEY (room_id, id)
) STRICT, WITHOUT ROWID;

-- Locks, with a row of room_lock_slot per slot. Written by a server that owns the database; servers that share it keep them in
-- Redis. Locked slots are known in memory from live locks.
CREATE TABLE room_lock (
    id          BLOB CONSTRAINT room_lock_pk PRIMARY KEY,
    user_id     TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    room_id     INTEGER NOT NULL,
    total_price INTEGER NOT NULL,
    currency    TEXT NOT NULL,
    purpose     TEXT NOT NULL,
    state       TEXT NOT NULL,
    record_id   INTEGER,
    replaced_by BLOB,
    CONSTRAINT room_lock_state
        CHECK (state = 'HELD' OR state = 'CONFIRMED' OR state = 'CANCELLED' OR state = 'REPLACED'),
    CONSTRAINT room_lock_confirmed CHECK ((state = 'CONFIRMED') = (record_id IS NOT NULL)),
    CONSTRAINT room_lock_replaced CHECK ((state = 'REPLACED') = (replaced_by IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE room_lock_slot (
    lock_id   BLOB NOT NULL CONSTRAINT room_lock_slot_lock REFERENCES room_lock (id) ON DELETE CASCADE,
    line_no   INTEGER NOT NULL,
    slot_date TEXT NOT NULL,
    slot_time INTEGER NOT NULL,
    minutes   INTEGER NOT NULL,
    price     INTEGER NOT NULL,
    CONSTRAINT room_lock_slot_pk PRIMARY KEY (lock_id, line_no)
) STRICT, WITHOUT ROWID;
