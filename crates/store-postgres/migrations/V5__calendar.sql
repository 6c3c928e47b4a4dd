-- Rooms by the hour: slots are generated ahead of time, each with its price. A lock is not written to its slot, because it
-- expires by time.

CREATE TABLE room (
    id              bigint CONSTRAINT room_pk PRIMARY KEY,
    name            text NOT NULL,
    time_zone       text NOT NULL,
    country         text NOT NULL,
    currency        text NOT NULL,
    slot_minutes    integer NOT NULL CONSTRAINT room_slot_minutes CHECK (slot_minutes BETWEEN 5 AND 1440),
    base_price      bigint NOT NULL CONSTRAINT room_base_price CHECK (base_price >= 0),
    -- Weekdays as bits, times, percent; separated by commas.
    peak            text NOT NULL,
    holiday_percent integer NOT NULL CONSTRAINT room_holiday_percent CHECK (holiday_percent >= 0),
    is_active       boolean NOT NULL,
    -- Last generated day, and first day whose slots are kept.
    generated_until date,
    kept_from       date,
    version         bigint NOT NULL DEFAULT 0
);

-- Hours are read and written as a whole: Monday to Sunday, separated by semicolons. The last three columns are the days that
-- remain to be rebuilt.
CREATE TABLE operating_hours (
    room_id            bigint CONSTRAINT operating_hours_pk PRIMARY KEY
        CONSTRAINT operating_hours_room REFERENCES room (id),
    weekly             text NOT NULL,
    exceptions         text NOT NULL,
    rebuild_next       date,
    rebuild_until      date,
    rebuild_again_from date,
    version            bigint NOT NULL DEFAULT 0,
    CONSTRAINT operating_hours_rebuild CHECK ((rebuild_next IS NULL) = (rebuild_until IS NULL))
);
-- Rooms to be rebuilt, polled every half minute. A partial index, so it stays small.
CREATE INDEX operating_hours_to_rebuild ON operating_hours (room_id) WHERE rebuild_next IS NOT NULL;

CREATE TABLE holiday (
    country      text NOT NULL,
    holiday_date date NOT NULL,
    version      bigint NOT NULL DEFAULT 0,
    CONSTRAINT holiday_pk PRIMARY KEY (country, holiday_date)
);

CREATE TABLE room_reservation (
    id           bigint CONSTRAINT room_reservation_pk PRIMARY KEY,
    -- A lock is confirmed at most once. Also used to look up the record of a lock.
    hold_id      uuid NOT NULL CONSTRAINT room_reservation_hold UNIQUE,
    room_id      bigint NOT NULL CONSTRAINT room_reservation_room REFERENCES room (id),
    user_id      text COLLATE "C" NOT NULL,
    total_price  bigint NOT NULL,
    currency     text NOT NULL,
    first_date   date NOT NULL,
    last_date    date NOT NULL,
    confirmed_at timestamptz NOT NULL,
    cancelled_at timestamptz,
    version      bigint NOT NULL DEFAULT 0
);
-- Lists by customer and by room, in page order.
CREATE INDEX room_reservation_by_user ON room_reservation (user_id, id);
CREATE INDEX room_reservation_by_room ON room_reservation (room_id, id);

CREATE TABLE room_reservation_slot (
    reservation_id bigint NOT NULL CONSTRAINT room_reservation_slot_reservation REFERENCES room_reservation (id),
    line_no        integer NOT NULL,
    slot_date      date NOT NULL,
    slot_time      integer NOT NULL,
    minutes        integer NOT NULL,
    price          bigint NOT NULL,
    CONSTRAINT room_reservation_slot_pk PRIMARY KEY (reservation_id, line_no)
);

-- `slot_time` is in minutes after midnight, in the room's time zone. With millions of rows there is no index but the key, and
-- no foreign key to check for each new row. One partition per month, created before its first slot and dropped when its slots
-- have been purged.
CREATE TABLE time_slots (
    room_id        bigint NOT NULL,
    slot_date      date NOT NULL,
    slot_time      integer NOT NULL CONSTRAINT time_slots_time CHECK (slot_time BETWEEN 0 AND 1439),
    minutes        integer NOT NULL CONSTRAINT time_slots_minutes CHECK (minutes > 0),
    status         text NOT NULL CONSTRAINT time_slots_status
        CHECK (status IN ('AVAILABLE', 'RESERVED', 'BLOCKED', 'MAINTENANCE')),
    reservation_id bigint,
    base_price     bigint NOT NULL,
    final_price    bigint NOT NULL,
    is_peak_time   boolean NOT NULL,
    is_holiday     boolean NOT NULL,
    outside_hours  boolean NOT NULL,
    version        bigint NOT NULL DEFAULT 0,
    CONSTRAINT time_slots_reserved CHECK ((status = 'RESERVED') = (reservation_id IS NOT NULL)),
    CONSTRAINT time_slots_pk PRIMARY KEY (room_id, slot_date, slot_time)
) PARTITION BY RANGE (slot_date);

-- Last safeguard: a reserved slot changes by cancellation only, after that is recorded. It is deleted only when its room no
-- longer keeps its day. The flag for being outside the hours may change at any time.
CREATE FUNCTION guard_time_slots() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
        AND (NEW.room_id, NEW.slot_date, NEW.slot_time, NEW.minutes, NEW.status, NEW.reservation_id, NEW.base_price,
            NEW.final_price)
        IS NOT DISTINCT FROM (OLD.room_id, OLD.slot_date, OLD.slot_time, OLD.minutes, OLD.status, OLD.reservation_id,
            OLD.base_price, OLD.final_price) THEN
        RETURN NEW;
    END IF;
    IF NOT EXISTS (SELECT FROM room_reservation WHERE id = OLD.reservation_id AND cancelled_at IS NOT NULL)
        AND NOT (TG_OP = 'DELETE' AND EXISTS (SELECT FROM room WHERE id = OLD.room_id AND kept_from > OLD.slot_date))
    THEN
        RAISE EXCEPTION 'a reserved slot changes only by cancellation' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER time_slots_guard BEFORE UPDATE OR DELETE ON time_slots
FOR EACH ROW WHEN (OLD.reservation_id IS NOT NULL) EXECUTE FUNCTION guard_time_slots();

-- Creates missing monthly partitions. A partition is created separately and then attached, which neither waits for readers and
-- writers nor blocks them. Of two servers that create the same month, the second waits for the first.
CREATE FUNCTION make_months(name text, dates date[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    month date;
    part  text;
BEGIN
    FOR month IN SELECT DISTINCT date_trunc('month', day)::date FROM unnest(dates) AS days (day) ORDER BY 1 LOOP
        part := format('%s_%s', name, to_char(month, 'YYYY_MM'));
        CONTINUE WHEN to_regclass(quote_ident(part)) IS NOT NULL;
        PERFORM pg_advisory_xact_lock(hashtextextended(part, 0));
        CONTINUE WHEN to_regclass(quote_ident(part)) IS NOT NULL;
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', part, name);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, part, month,
            month + interval '1 month');
    END LOOP;
END $$;

-- Drops the oldest partition if all rooms have purged it and it is empty. Returns whether it did. The lock timeout is short,
-- because bookings would queue behind it.
CREATE FUNCTION drop_cleared_month() RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '100ms' AS $$
DECLARE
    part    text;
    is_used boolean;
BEGIN
    SELECT relname INTO part FROM pg_inherits JOIN pg_class ON oid = inhrelid
    WHERE inhparent = 'time_slots'::regclass ORDER BY relname LIMIT 1;
    IF part IS NULL OR EXISTS (
        SELECT FROM room WHERE kept_from < to_date(right(part, 7), 'YYYY_MM') + interval '1 month'
    ) THEN
        RETURN false;
    END IF;
    EXECUTE format('SELECT EXISTS (SELECT FROM %I)', part) INTO is_used;
    IF is_used THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP TABLE %I', part);
    RETURN true;
END $$;

-- Log of generation runs; append-only.
CREATE TABLE slot_generation_log (
    room_id         bigint NOT NULL CONSTRAINT slot_generation_log_room REFERENCES room (id),
    id              bigint NOT NULL,
    generation_date date NOT NULL,
    slots_created   integer NOT NULL,
    generated_until date NOT NULL,
    created_at      timestamptz NOT NULL,
    version         bigint NOT NULL DEFAULT 0,
    CONSTRAINT slot_generation_log_pk PRIMARY KEY (room_id, id)
);

-- Locks, with a row of room_lock_slot per slot. Written by a server that owns the database; servers that share it keep them in
-- Redis. Locked slots are known in memory from live locks.
CREATE TABLE room_lock (
    id          uuid CONSTRAINT room_lock_pk PRIMARY KEY,
    user_id     text COLLATE "C" NOT NULL,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    room_id     bigint NOT NULL,
    total_price bigint NOT NULL,
    currency    text NOT NULL,
    purpose     text NOT NULL,
    state       text NOT NULL,
    record_id   bigint,
    replaced_by uuid,
    version     bigint NOT NULL DEFAULT 0,
    CONSTRAINT room_lock_state CHECK (state IN ('HELD', 'CONFIRMED', 'CANCELLED', 'REPLACED')),
    CONSTRAINT room_lock_confirmed CHECK ((state = 'CONFIRMED') = (record_id IS NOT NULL)),
    CONSTRAINT room_lock_replaced CHECK ((state = 'REPLACED') = (replaced_by IS NOT NULL))
);

CREATE TABLE room_lock_slot (
    lock_id   uuid NOT NULL CONSTRAINT room_lock_slot_lock REFERENCES room_lock (id) ON DELETE CASCADE,
    line_no   integer NOT NULL,
    slot_date date NOT NULL,
    slot_time integer NOT NULL,
    minutes   integer NOT NULL,
    price     bigint NOT NULL,
    CONSTRAINT room_lock_slot_pk PRIMARY KEY (lock_id, line_no)
);

SELECT make_lock('room', ARRAY['id']);
SELECT make_lock('operating_hours', ARRAY['room_id']);
SELECT make_lock('holiday', ARRAY['country', 'holiday_date']);
SELECT make_lock('room_reservation', ARRAY['id']);
SELECT make_lock('time_slots', ARRAY['room_id', 'slot_date', 'slot_time']);
SELECT make_lock('slot_generation_log', ARRAY['room_id', 'id']);
