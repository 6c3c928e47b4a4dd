-- Schema of a new database. Tables and columns are those that `holdfast_core::schema` declares; a test compares them.

-- Tables shared by all verticals. `version` counts the writes of a row: servers that share a database do not lock rows they
-- read; they compare versions at commit (optimistic concurrency control).

-- Number of batches committed by a server that owns the database, and the time of the last one. In-memory state is compared
-- with the count, and a batch based on another count is refused (fencing). Servers that share the database increment it once
-- per connection, so that a later owner rebuilds its state. Time never runs backwards behind the last commit, even if the clock
-- was set back while no server ran.
CREATE TABLE commits (
    only_row boolean CONSTRAINT commits_pk PRIMARY KEY CONSTRAINT commits_only_row CHECK (only_row),
    count    bigint NOT NULL,
    last_at  timestamptz NOT NULL
);
INSERT INTO commits VALUES (true, 0, 'epoch');

-- Random id of this installation, for names that must be unique among several.
CREATE TABLE installation (
    only_row boolean CONSTRAINT installation_pk PRIMARY KEY CONSTRAINT installation_only_row CHECK (only_row),
    id       text NOT NULL
);
INSERT INTO installation VALUES (true, replace(gen_random_uuid()::text, '-', ''));

CREATE TABLE sequence (
    name text CONSTRAINT sequence_pk PRIMARY KEY,
    next bigint NOT NULL CONSTRAINT sequence_next_positive CHECK (next > 0)
);

CREATE TABLE idempotency_key (
    caller      text NOT NULL,
    key         text NOT NULL,
    fingerprint bytea NOT NULL,
    response    bytea NOT NULL,
    expires_at  timestamptz NOT NULL,
    CONSTRAINT idempotency_key_pk PRIMARY KEY (caller, key)
);
-- Index for purging expired rows. It is appended to, so it is cheap.
CREATE INDEX idempotency_key_expires_at ON idempotency_key (expires_at);

-- Transactional outbox: durable events, written in the commit of their cause. Numbers come from `sequence` and are never
-- reused; its row stays locked until the commit, so events become visible in number order. Data is null for events without
-- data; `json` preserves the text as written.
CREATE TABLE outbox (
    id         bigint CONSTRAINT outbox_pk PRIMARY KEY,
    event_type text NOT NULL,
    user_id    text COLLATE "C",
    created_at timestamptz NOT NULL,
    data       json,
    -- Trace of the request that caused the event, as a `traceparent`.
    trace      text,
    -- Imported from the booking service's database: published on the stream of this server and not relayed from here.
    imported   boolean NOT NULL
);

-- The functions below abort a transaction whose statements, COMMIT included, are sent in one round trip, without the client in
-- between. `error.rs` distinguishes their codes.

-- Raises if a batch is not based on the last commit.
CREATE FUNCTION count_commit(expected bigint, committed_at timestamptz) RETURNS timestamptz LANGUAGE plpgsql AS $$
BEGIN
    UPDATE commits SET count = count + 1, last_at = greatest(last_at, committed_at)
    WHERE only_row AND count = expected;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'commit % is not the last one', expected USING ERRCODE = 'UH001';
    END IF;
    RETURN clock_timestamp();
END $$;

-- Raises if a statement affected another number of rows than expected.
CREATE FUNCTION expect_rows(actual bigint, expected bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF actual <> expected THEN
        RAISE EXCEPTION '% rows instead of %', actual, expected USING ERRCODE = 'UH002';
    END IF;
END $$;

-- Raises if rows were read too long ago, as by a server that was paused in between.
CREATE FUNCTION expect_fresh(loaded_at timestamptz, age_max interval) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF clock_timestamp() > loaded_at + age_max THEN
        RAISE EXCEPTION 'rows loaded at % are too old', loaded_at USING ERRCODE = 'UH004';
    END IF;
END $$;

-- Raises if a row has another version than was read; null stands for an absent row.
CREATE FUNCTION expect_version(actual bigint, expected bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF actual IS DISTINCT FROM expected THEN
        RAISE EXCEPTION 'version % instead of %', actual, expected USING ERRCODE = 'UH003';
    END IF;
END $$;

-- Servers that share the database lock the rows of their read set at commit, in the order of table and key, each in the one
-- mode it needs, so that deadlocks are impossible. Rows that were only read are locked too, so that they cannot change before
-- the commit. The functions differ only in table and key, so one function creates them: lock_<table>(one array per key column,
-- versions, written).
CREATE FUNCTION make_lock(name text, keys text[]) RETURNS void LANGUAGE plpgsql AS $make$
DECLARE
    arguments text;
    columns   text;
    matches   text;
    arrays    text;
BEGIN
    SELECT string_agg(format('%I_keys %s[]', key, format_type(atttypid, atttypmod)), ', ' ORDER BY position),
           string_agg(format('%I', key), ', ' ORDER BY position),
           string_agg(format('%1$I = was.%1$I', key), ' AND ' ORDER BY position),
           string_agg(format('%I_keys', key), ', ' ORDER BY position)
    INTO arguments, columns, matches, arrays
    FROM unnest(keys) WITH ORDINALITY AS key_columns (key, position)
    JOIN pg_attribute ON attrelid = name::regclass AND attname = key;
    EXECUTE format($body$
        CREATE FUNCTION %1$I(%2$s, versions bigint[], written boolean[]) RETURNS void LANGUAGE plpgsql AS $lock$
        DECLARE
            was     record;
            current bigint;
        BEGIN
            FOR was IN SELECT * FROM unnest(%3$s, versions, written) AS was (%4$s, version, written) LOOP
                IF was.written THEN
                    SELECT version INTO current FROM %5$I WHERE %6$s FOR NO KEY UPDATE;
                ELSE
                    SELECT version INTO current FROM %5$I WHERE %6$s FOR SHARE;
                END IF;
                PERFORM expect_version(current, was.version);
            END LOOP;
        END $lock$
    $body$, 'lock_' || name, arguments, arrays, columns, name, matches);
END $make$;

-- Holds.

-- Outcomes of confirm attempts of servers that share the database. The first decides.
CREATE TABLE hold_decision (
    hold_id    uuid NOT NULL,
    attempt    integer NOT NULL,
    committed  boolean NOT NULL,
    decided_at timestamptz NOT NULL,
    CONSTRAINT hold_decision_pk PRIMARY KEY (hold_id, attempt)
);
CREATE INDEX hold_decision_by_age ON hold_decision (decided_at);

-- One hold for all verticals: every hold of a server that owns the database, or the confirmed ones of servers that share it. Live
-- holds are found by their end at start, and ended ones by the purge; a confirmed hold is kept as long as its records.
CREATE TABLE hold (
    id          uuid CONSTRAINT hold_pk PRIMARY KEY,
    origin      text NOT NULL,
    created_at  timestamptz NOT NULL,
    currency    text NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    expires_at  timestamptz NOT NULL,
    pay_by      timestamptz,
    ends_at     timestamptz NOT NULL,
    state       text NOT NULL,
    replaced_by uuid,
    revision    integer NOT NULL,
    extensions  integer NOT NULL,
    attempt     integer NOT NULL,
    lines       bytea NOT NULL,
    reference   text,
    metadata    bytea,
    refund_tiers text,
    version     bigint NOT NULL DEFAULT 0,
    CONSTRAINT hold_state CHECK (state IN ('HELD', 'CONFIRMED', 'CANCELLED', 'REPLACED')),
    CONSTRAINT hold_replaced CHECK ((state = 'REPLACED') = (replaced_by IS NOT NULL))
);
CREATE INDEX hold_by_end ON hold (ends_at) WHERE state <> 'CONFIRMED';
-- Lists of ended and confirmed holds. Live ones are found through in-memory state.
CREATE INDEX hold_by_user ON hold (user_id, id) WHERE state <> 'HELD';
CREATE INDEX hold_by_reference ON hold (reference, id) WHERE reference IS NOT NULL;

-- Latest hold of a user on a cart.
CREATE TABLE last_cart_hold (
    user_id    text COLLATE "C" CONSTRAINT last_cart_hold_pk PRIMARY KEY,
    hold_id    uuid NOT NULL,
    kept_until timestamptz NOT NULL,
    version    bigint NOT NULL DEFAULT 0
);

SELECT make_lock('hold', ARRAY['id']);

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

CREATE TABLE stay_reservation (
    id           bigint CONSTRAINT stay_reservation_pk PRIMARY KEY,
    hold_id      uuid NOT NULL,
    line_no      integer NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    room_type_id bigint NOT NULL CONSTRAINT stay_reservation_room_type REFERENCES room_type (id),
    check_in     date NOT NULL,
    check_out    date NOT NULL,
    quantity     integer NOT NULL CONSTRAINT stay_reservation_quantity CHECK (quantity > 0),
    price        bigint NOT NULL,
    currency     text NOT NULL,
    confirmed_at timestamptz NOT NULL,
    cancelled_at timestamptz,
    version      bigint NOT NULL DEFAULT 0,
    -- A line is confirmed at most once. Also used to look up the records of a hold.
    CONSTRAINT stay_reservation_line UNIQUE (hold_id, line_no)
);
-- Lists by customer and by room type, in page order.
CREATE INDEX stay_reservation_by_user ON stay_reservation (user_id, id);
CREATE INDEX stay_reservation_by_room_type ON stay_reservation (room_type_id, id);
-- Cancelled reservations of all customers, for operators. A partial index, so it stays small.
CREATE INDEX stay_reservation_cancelled ON stay_reservation (id) WHERE cancelled_at IS NOT NULL;

SELECT make_lock('room_type', ARRAY['id']);
SELECT make_lock('room_type_stock', ARRAY['room_type_id', 'target_date']);
SELECT make_lock('stay_reservation', ARRAY['id']);

-- The shop: accounts, products, stock, carts, coupons, reservations, orders. Physical stock is received minus sold; payment
-- reduces it, a reservation never does.

CREATE TABLE users (
    id       text COLLATE "C" CONSTRAINT users_pk PRIMARY KEY,
    name     text NOT NULL,
    currency text NOT NULL,
    balance  bigint NOT NULL,
    -- Sum of all top-ups; balance plus payments equals it.
    charged  bigint NOT NULL,
    version  bigint NOT NULL DEFAULT 0,
    CONSTRAINT users_balance CHECK (balance BETWEEN 0 AND charged)
);

-- Options of a product have consecutive numbers.
CREATE TABLE product (
    id              bigint CONSTRAINT product_pk PRIMARY KEY,
    name            text NOT NULL,
    currency        text NOT NULL,
    first_option_id bigint NOT NULL,
    option_count    integer NOT NULL,
    version         bigint NOT NULL DEFAULT 0
);

CREATE TABLE product_option (
    id           bigint CONSTRAINT product_option_pk PRIMARY KEY,
    product_id   bigint NOT NULL CONSTRAINT product_option_product REFERENCES product (id),
    product_name text NOT NULL,
    option_code  text NOT NULL,
    currency     text NOT NULL,
    price        bigint NOT NULL CONSTRAINT product_option_price CHECK (price >= 0),
    is_active    boolean NOT NULL,
    version      bigint NOT NULL DEFAULT 0
);

CREATE TABLE inventory (
    product_option_id bigint CONSTRAINT inventory_pk PRIMARY KEY
        CONSTRAINT inventory_product_option REFERENCES product_option (id),
    received_quantity integer NOT NULL,
    sold_quantity     integer NOT NULL,
    version           bigint NOT NULL DEFAULT 0,
    -- Last safeguard against overselling; the engine refuses first.
    CONSTRAINT inventory_not_oversold CHECK (sold_quantity BETWEEN 0 AND received_quantity)
);

CREATE TABLE cart_item (
    user_id           text COLLATE "C" NOT NULL CONSTRAINT cart_item_user REFERENCES users (id),
    product_option_id bigint NOT NULL CONSTRAINT cart_item_product_option REFERENCES product_option (id),
    quantity          integer NOT NULL CONSTRAINT cart_item_quantity CHECK (quantity > 0),
    version           bigint NOT NULL DEFAULT 0,
    CONSTRAINT cart_item_pk PRIMARY KEY (user_id, product_option_id)
);

CREATE TABLE orders (
    id              bigint CONSTRAINT orders_pk PRIMARY KEY,
    -- A reservation is paid at most once. Also used to look up the order of a reservation.
    hold_id         uuid NOT NULL CONSTRAINT orders_hold UNIQUE,
    user_id         text COLLATE "C" NOT NULL CONSTRAINT orders_user REFERENCES users (id),
    total_amount    bigint NOT NULL,
    discount_amount bigint NOT NULL,
    paid_amount     bigint NOT NULL,
    coupon_code     text,
    currency        text NOT NULL,
    created_at      timestamptz NOT NULL,
    cancelled_at    timestamptz,
    version         bigint NOT NULL DEFAULT 0,
    CONSTRAINT orders_amounts CHECK (paid_amount >= 0 AND paid_amount = total_amount - discount_amount)
);
-- List by customer, in page order.
CREATE INDEX orders_by_user ON orders (user_id, id);

-- Sales of stock to holds that are no carts.
CREATE TABLE stock_sale (
    id                bigint CONSTRAINT stock_sale_pk PRIMARY KEY,
    hold_id           uuid NOT NULL,
    line_no           integer NOT NULL,
    user_id           text COLLATE "C" NOT NULL,
    product_option_id bigint NOT NULL CONSTRAINT stock_sale_product_option REFERENCES product_option (id),
    quantity          integer NOT NULL CONSTRAINT stock_sale_quantity CHECK (quantity > 0),
    price             bigint NOT NULL,
    currency          text NOT NULL,
    sold_at           timestamptz NOT NULL,
    cancelled_at      timestamptz,
    version           bigint NOT NULL DEFAULT 0,
    -- A line is confirmed at most once. Also used to look up the records of a hold.
    CONSTRAINT stock_sale_line UNIQUE (hold_id, line_no)
);

CREATE TABLE order_item (
    order_id          bigint NOT NULL CONSTRAINT order_item_order REFERENCES orders (id),
    line_no           integer NOT NULL,
    id                bigint NOT NULL,
    product_option_id bigint NOT NULL CONSTRAINT order_item_product_option REFERENCES product_option (id),
    product_name      text NOT NULL,
    option_code       text NOT NULL,
    quantity          integer NOT NULL CONSTRAINT order_item_quantity CHECK (quantity > 0),
    unit_price        bigint NOT NULL,
    CONSTRAINT order_item_pk PRIMARY KEY (order_id, line_no)
);

-- Operators search reservations by number. Numbers ascend and are mostly paid in that order, so the index is appended to.
CREATE INDEX order_item_by_reservation ON order_item (id);

CREATE TABLE coupon (
    code          text CONSTRAINT coupon_pk PRIMARY KEY,
    discount_type text NOT NULL CONSTRAINT coupon_discount_type CHECK (discount_type IN ('PERCENT', 'AMOUNT')),
    value         bigint NOT NULL CONSTRAINT coupon_value CHECK (value > 0),
    max_uses      integer NOT NULL,
    valid_until   timestamptz,
    issued_count  integer NOT NULL,
    -- The only currency the coupon discounts; NULL: any.
    currency      text,
    version       bigint NOT NULL DEFAULT 0,
    CONSTRAINT coupon_not_oversold CHECK (issued_count BETWEEN 0 AND max_uses)
);

CREATE TABLE user_coupon (
    coupon_code      text NOT NULL CONSTRAINT user_coupon_coupon REFERENCES coupon (code),
    user_id          text COLLATE "C" NOT NULL CONSTRAINT user_coupon_user REFERENCES users (id),
    used_by_order_id bigint,
    version          bigint NOT NULL DEFAULT 0,
    CONSTRAINT user_coupon_pk PRIMARY KEY (coupon_code, user_id)
);

SELECT make_lock('users', ARRAY['id']);
SELECT make_lock('product', ARRAY['id']);
SELECT make_lock('product_option', ARRAY['id']);
SELECT make_lock('inventory', ARRAY['product_option_id']);
SELECT make_lock('cart_item', ARRAY['user_id', 'product_option_id']);
SELECT make_lock('orders', ARRAY['id']);
SELECT make_lock('stock_sale', ARRAY['id']);
SELECT make_lock('coupon', ARRAY['code']);
SELECT make_lock('user_coupon', ARRAY['coupon_code', 'user_id']);

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

-- Hours are read and written as a whole: Monday to Sunday, separated by semicolons. The other columns are the days that
-- remain to be rebuilt.
CREATE TABLE operating_hours (
    room_id            bigint CONSTRAINT operating_hours_pk PRIMARY KEY
        CONSTRAINT operating_hours_room REFERENCES room (id),
    weekly             text NOT NULL,
    exceptions         text NOT NULL,
    rebuild_next       date,
    rebuild_until      date,
    rebuild_again_from date,
    -- The days are those where locks prevented a rebuild, and only missing slots are generated.
    rebuild_is_again   boolean NOT NULL,
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
    hold_id      uuid NOT NULL,
    line_no      integer NOT NULL,
    room_id      bigint NOT NULL CONSTRAINT room_reservation_room REFERENCES room (id),
    user_id      text COLLATE "C" NOT NULL,
    total_price  bigint NOT NULL,
    currency     text NOT NULL,
    first_date   date NOT NULL,
    last_date    date NOT NULL,
    confirmed_at timestamptz NOT NULL,
    cancelled_at timestamptz,
    version      bigint NOT NULL DEFAULT 0,
    -- A line is confirmed at most once. Also used to look up the records of a hold.
    CONSTRAINT room_reservation_line UNIQUE (hold_id, line_no)
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

SELECT make_lock('room', ARRAY['id']);
SELECT make_lock('operating_hours', ARRAY['room_id']);
SELECT make_lock('holiday', ARRAY['country', 'holiday_date']);
SELECT make_lock('room_reservation', ARRAY['id']);
SELECT make_lock('time_slots', ARRAY['room_id', 'slot_date', 'slot_time']);
SELECT make_lock('slot_generation_log', ARRAY['room_id', 'id']);

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
    hold_id      uuid NOT NULL,
    line_no      integer NOT NULL,
    event_id     bigint NOT NULL CONSTRAINT seat_reservation_event REFERENCES ticket_event (id),
    user_id      text COLLATE "C" NOT NULL,
    total_price  bigint NOT NULL CONSTRAINT seat_reservation_total_price CHECK (total_price >= 0),
    currency     text NOT NULL,
    reserved_at  timestamptz NOT NULL,
    cancelled_at timestamptz,
    version      bigint NOT NULL DEFAULT 0,
    -- A line is confirmed at most once. Also used to look up the records of a hold.
    CONSTRAINT seat_reservation_line UNIQUE (hold_id, line_no)
);
-- List by customer, in page order.
CREATE INDEX seat_reservation_by_user ON seat_reservation (user_id, id);
-- Reservations of an event, for operators.
CREATE INDEX seat_reservation_by_event ON seat_reservation (event_id, id);

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

-- Position of the outbox relay per partition. An event at or below the position was published unless it is listed as failed. A
-- partition belongs to one server at a time, by lease.
CREATE TABLE outbox_relay (
    partition_no integer CONSTRAINT outbox_relay_pk PRIMARY KEY,
    sent_up_to   bigint NOT NULL,
    leased_by    bigint NOT NULL,
    leased_until timestamptz NOT NULL,
    version      bigint NOT NULL DEFAULT 0
);

-- Failed events and dead letters. Normally few, so there is no index but the key.
CREATE TABLE outbox_trouble (
    outbox_id    bigint CONSTRAINT outbox_trouble_pk PRIMARY KEY,
    partition_no integer NOT NULL,
    retry_count  integer NOT NULL,
    next_try_at  timestamptz NOT NULL,
    failed       boolean NOT NULL,
    version      bigint NOT NULL DEFAULT 0
);

SELECT make_lock('outbox_relay', ARRAY['partition_no']);
SELECT make_lock('outbox_trouble', ARRAY['outbox_id']);

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
    message_id  text NOT NULL,
    received_at timestamptz NOT NULL,
    version     bigint NOT NULL DEFAULT 0,
    CONSTRAINT message_inbox_pk PRIMARY KEY (service, message_id)
);
-- Index for purging old entries. It is appended to, so it is cheap.
CREATE INDEX message_inbox_received_at ON message_inbox (received_at);

-- Ids of events imported from the booking service's database, so that each is imported once. Kept as long as the events.
CREATE TABLE imported_event (
    message_id  text CONSTRAINT imported_event_pk PRIMARY KEY,
    imported_at timestamptz NOT NULL,
    version     bigint NOT NULL DEFAULT 0
);
CREATE INDEX imported_event_imported_at ON imported_event (imported_at);

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
SELECT make_lock('message_inbox', ARRAY['service', 'message_id']);
SELECT make_lock('imported_event', ARRAY['message_id']);

-- Webhooks: subscriptions and deliveries. They belong to the notify service.

CREATE TABLE webhook (
    id          bigint CONSTRAINT webhook_pk PRIMARY KEY,
    url         text NOT NULL,
    -- Prefixes of event types, separated by commas; empty for all.
    types       text NOT NULL,
    secret      text NOT NULL,
    created_at  timestamptz NOT NULL,
    -- Last event of the outbox when the webhook was created.
    told_after  bigint NOT NULL,
    disabled_at timestamptz,
    version     bigint NOT NULL DEFAULT 0
);

-- Events with deliveries, each stored once for all its deliveries. The row also records that the event was processed.
CREATE TABLE webhook_event (
    event_id   text CONSTRAINT webhook_event_pk PRIMARY KEY,
    event_type text NOT NULL,
    at         timestamptz NOT NULL,
    data       text NOT NULL,
    deliveries integer NOT NULL CONSTRAINT webhook_event_deliveries CHECK (deliveries > 0),
    version    bigint NOT NULL DEFAULT 0
);

-- No foreign key to the webhook: deliveries of a deleted webhook are dropped when they become due.
CREATE TABLE webhook_delivery (
    id              bigint CONSTRAINT webhook_delivery_pk PRIMARY KEY,
    webhook_id      bigint NOT NULL,
    event_id        text NOT NULL,
    event_type      text NOT NULL,
    created_at      timestamptz NOT NULL,
    status          text NOT NULL CONSTRAINT webhook_delivery_status
        CHECK (status IN ('PENDING', 'DELIVERED', 'FAILED')),
    next_attempt_at timestamptz,
    ended_at        timestamptz,
    attempts        integer NOT NULL,
    attempts_before integer NOT NULL,
    last_status     integer,
    last_error      text,
    version         bigint NOT NULL DEFAULT 0,
    CONSTRAINT webhook_delivery_pending CHECK ((status = 'PENDING') = (next_attempt_at IS NOT NULL)),
    CONSTRAINT webhook_delivery_ended CHECK ((status = 'PENDING') = (ended_at IS NULL))
);
-- Log of a webhook, in page order.
CREATE INDEX webhook_delivery_by_webhook ON webhook_delivery (webhook_id, id);

-- Pending deliveries by webhook, earliest first, so that a long queue of one webhook delays no other.
CREATE TABLE webhook_due (
    webhook_id  bigint NOT NULL,
    due_at      timestamptz NOT NULL,
    delivery_id bigint NOT NULL,
    version     bigint NOT NULL DEFAULT 0,
    CONSTRAINT webhook_due_pk PRIMARY KEY (webhook_id, due_at, delivery_id)
);

SELECT make_lock('webhook', ARRAY['id']);
SELECT make_lock('webhook_event', ARRAY['event_id']);
SELECT make_lock('webhook_delivery', ARRAY['id']);
SELECT make_lock('webhook_due', ARRAY['webhook_id', 'due_at', 'delivery_id']);
