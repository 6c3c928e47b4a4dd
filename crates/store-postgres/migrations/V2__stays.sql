-- Hotel nights.

CREATE TABLE room_type (
    id             bigint CONSTRAINT room_type_pk PRIMARY KEY,
    name           text NOT NULL,
    description    text,
    total_quantity integer NOT NULL CONSTRAINT room_type_total_quantity CHECK (total_quantity >= 0),
    base_price     bigint NOT NULL CONSTRAINT room_type_base_price CHECK (base_price >= 0),
    currency       text NOT NULL,
    time_zone      text NOT NULL,
    version        bigint NOT NULL DEFAULT 0
);

-- Confirmed reservations per night. A night without a row has none and is open.
CREATE TABLE room_type_stock (
    room_type_id   bigint NOT NULL CONSTRAINT room_type_stock_room_type REFERENCES room_type (id),
    target_date    date NOT NULL,
    total_quantity integer NOT NULL,
    reserved_count integer NOT NULL,
    closed         boolean NOT NULL,
    version        bigint NOT NULL DEFAULT 0,
    CONSTRAINT room_type_stock_pk PRIMARY KEY (room_type_id, target_date),
    -- Last safeguard against overselling; the engine refuses first.
    CONSTRAINT room_type_stock_not_oversold CHECK (reserved_count BETWEEN 0 AND total_quantity)
);

-- Written by a server that owns the database; servers that share it keep holds in Redis. Ids begin with their time and sort by
-- bytes: new holds are appended, live ones lie together at the end, and old ones are purged from the front. No other index is
-- needed.
CREATE TABLE stay_hold (
    id             uuid CONSTRAINT stay_hold_pk PRIMARY KEY,
    user_id        text COLLATE "C" NOT NULL,
    room_type_id   bigint NOT NULL,
    check_in       date NOT NULL,
    check_out      date NOT NULL,
    client_key     text NOT NULL,
    price          bigint NOT NULL,
    currency       text NOT NULL,
    created_at     timestamptz NOT NULL,
    expires_at     timestamptz NOT NULL,
    state          text NOT NULL,
    reservation_id bigint,
    replaced_by    uuid,
    version        bigint NOT NULL DEFAULT 0,
    CONSTRAINT stay_hold_state CHECK (state IN ('HELD', 'CONFIRMED', 'CANCELLED', 'REPLACED')),
    CONSTRAINT stay_hold_confirmed CHECK ((state = 'CONFIRMED') = (reservation_id IS NOT NULL)),
    CONSTRAINT stay_hold_replaced CHECK ((state = 'REPLACED') = (replaced_by IS NOT NULL))
);

CREATE TABLE stay_reservation (
    id           bigint CONSTRAINT stay_reservation_pk PRIMARY KEY,
    -- A hold is confirmed at most once. Also used to look up the record of a hold.
    hold_id      uuid NOT NULL CONSTRAINT stay_reservation_hold UNIQUE,
    user_id      text COLLATE "C" NOT NULL,
    room_type_id bigint NOT NULL CONSTRAINT stay_reservation_room_type REFERENCES room_type (id),
    check_in     date NOT NULL,
    check_out    date NOT NULL,
    price        bigint NOT NULL,
    currency     text NOT NULL,
    confirmed_at timestamptz NOT NULL,
    cancelled_at timestamptz,
    version      bigint NOT NULL DEFAULT 0
);
-- Lists by customer and by room type, in page order.
CREATE INDEX stay_reservation_by_user ON stay_reservation (user_id, id);
CREATE INDEX stay_reservation_by_room_type ON stay_reservation (room_type_id, id);
-- Cancelled reservations of all customers, for operators. A partial index, so it stays small.
CREATE INDEX stay_reservation_cancelled ON stay_reservation (id) WHERE cancelled_at IS NOT NULL;

-- For servers that share the database. They lock the rows of their read set at commit, in the order of table and key, each in
-- the one mode it needs, so that deadlocks are impossible. Rows that were only read are locked too, so that they cannot change
-- before the commit.

CREATE FUNCTION lock_room_types(ids bigint[], versions bigint[], written boolean[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    was     record;
    current bigint;
BEGIN
    FOR was IN SELECT * FROM unnest(ids, versions, written) AS was (id, version, written) LOOP
        IF was.written THEN
            SELECT version INTO current FROM room_type WHERE id = was.id FOR NO KEY UPDATE;
        ELSE
            SELECT version INTO current FROM room_type WHERE id = was.id FOR SHARE;
        END IF;
        PERFORM expect_version(current, was.version);
    END LOOP;
END $$;

CREATE FUNCTION lock_nights(room_types bigint[], dates date[], versions bigint[], written boolean[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    was     record;
    current bigint;
BEGIN
    FOR was IN
        SELECT * FROM unnest(room_types, dates, versions, written) AS was (room_type_id, target_date, version, written)
    LOOP
        IF was.written THEN
            SELECT version INTO current FROM room_type_stock
            WHERE room_type_id = was.room_type_id AND target_date = was.target_date FOR NO KEY UPDATE;
        ELSE
            SELECT version INTO current FROM room_type_stock
            WHERE room_type_id = was.room_type_id AND target_date = was.target_date FOR SHARE;
        END IF;
        PERFORM expect_version(current, was.version);
    END LOOP;
END $$;

CREATE FUNCTION lock_stay_reservations(ids bigint[], versions bigint[], written boolean[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    was     record;
    current bigint;
BEGIN
    FOR was IN SELECT * FROM unnest(ids, versions, written) AS was (id, version, written) LOOP
        IF was.written THEN
            SELECT version INTO current FROM stay_reservation WHERE id = was.id FOR NO KEY UPDATE;
        ELSE
            SELECT version INTO current FROM stay_reservation WHERE id = was.id FOR SHARE;
        END IF;
        PERFORM expect_version(current, was.version);
    END LOOP;
END $$;
