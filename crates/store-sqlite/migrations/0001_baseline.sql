-- Schema of a new store. Tables and columns are those that `holdfast_core::schema` declares; a test compares them.

-- Tables shared by all verticals. Times are milliseconds since 1970, dates are ISO 8601 text: both sort naturally and are
-- readable in a shell.

-- Number of committed batches, and the time of the last one. Readers compare the count with that of in-memory state. Time never
-- runs backwards behind the last commit, even if the clock was set back while no server ran.
CREATE TABLE commits (
    only_row INTEGER PRIMARY KEY CONSTRAINT commits_only_row CHECK (only_row = 1),
    count    INTEGER NOT NULL,
    last_at  INTEGER NOT NULL
) STRICT;
INSERT INTO commits VALUES (1, 0, 0);

-- Random id of this installation, for names that must be unique among several.
CREATE TABLE installation (
    only_row INTEGER PRIMARY KEY CONSTRAINT installation_only_row CHECK (only_row = 1),
    id       TEXT NOT NULL
) STRICT;
INSERT INTO installation VALUES (1, lower(hex(randomblob(16))));

CREATE TABLE sequence (
    name TEXT PRIMARY KEY,
    next INTEGER NOT NULL CONSTRAINT sequence_next_positive CHECK (next > 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency_key (
    caller      TEXT NOT NULL,
    key         TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    response    BLOB NOT NULL,
    expires_at  INTEGER NOT NULL,
    CONSTRAINT idempotency_key_pk PRIMARY KEY (caller, key)
) STRICT, WITHOUT ROWID;
-- Index for purging expired rows. It is appended to, so it is cheap.
CREATE INDEX idempotency_key_expires_at ON idempotency_key (expires_at);

-- Transactional outbox: durable events, written in the commit of their cause. Numbers come from `sequence` and are never
-- reused, even after all older events are purged.
CREATE TABLE outbox (
    id         INTEGER PRIMARY KEY,
    event_type TEXT NOT NULL,
    user_id    TEXT,
    created_at INTEGER NOT NULL,
    data       TEXT NOT NULL,
    -- Trace of the request that caused the event, as a `traceparent`.
    trace      TEXT,
    -- Imported from the booking service's store: published on the stream of this server and not relayed from here.
    imported   INTEGER NOT NULL
) STRICT;

-- Holds.

-- One hold for all verticals. Live holds are found by their end at start, and ended ones by the purge; a confirmed hold is kept as
-- long as its records.
CREATE TABLE hold (
    id          BLOB CONSTRAINT hold_pk PRIMARY KEY,
    origin      TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    currency    TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    expires_at  INTEGER NOT NULL,
    pay_by      INTEGER,
    ends_at     INTEGER NOT NULL,
    state       TEXT NOT NULL,
    replaced_by BLOB,
    revision    INTEGER NOT NULL,
    extensions  INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    lines       BLOB NOT NULL,
    reference   TEXT,
    metadata    BLOB,
    refund_tiers TEXT,
    CONSTRAINT hold_state
        CHECK (state = 'HELD' OR state = 'CONFIRMED' OR state = 'CANCELLED' OR state = 'REPLACED'),
    CONSTRAINT hold_replaced CHECK ((state = 'REPLACED') = (replaced_by IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX hold_by_end ON hold (ends_at) WHERE state <> 'CONFIRMED';
-- Lists of ended and confirmed holds. Live ones are found through in-memory state.
CREATE INDEX hold_by_user ON hold (user_id, id) WHERE state <> 'HELD';
CREATE INDEX hold_by_reference ON hold (reference, id) WHERE reference IS NOT NULL;

-- Latest hold of a user on a cart.
CREATE TABLE last_cart_hold (
    user_id    TEXT CONSTRAINT last_cart_hold_pk PRIMARY KEY,
    hold_id    BLOB NOT NULL,
    kept_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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

CREATE TABLE stay_reservation (
    id           INTEGER PRIMARY KEY,
    hold_id      BLOB NOT NULL,
    line_no      INTEGER NOT NULL,
    user_id      TEXT NOT NULL,
    room_type_id INTEGER NOT NULL CONSTRAINT stay_reservation_room_type REFERENCES room_type (id),
    check_in     TEXT NOT NULL,
    check_out    TEXT NOT NULL,
    quantity     INTEGER NOT NULL CONSTRAINT stay_reservation_quantity CHECK (quantity > 0),
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

-- The shop: accounts, products, stock, carts, coupons, reservations, orders. Physical stock is received minus sold; payment
-- reduces it, a reservation never does.

CREATE TABLE users (
    id       TEXT NOT NULL CONSTRAINT users_pk PRIMARY KEY,
    name     TEXT NOT NULL,
    currency TEXT NOT NULL,
    balance  INTEGER NOT NULL,
    -- Sum of all top-ups; balance plus payments equals it.
    charged  INTEGER NOT NULL,
    CONSTRAINT users_balance CHECK (balance BETWEEN 0 AND charged)
) STRICT, WITHOUT ROWID;

-- Options of a product have consecutive numbers.
CREATE TABLE product (
    id              INTEGER PRIMARY KEY,
    name            TEXT NOT NULL,
    currency        TEXT NOT NULL,
    first_option_id INTEGER NOT NULL,
    option_count    INTEGER NOT NULL
) STRICT;

CREATE TABLE product_option (
    id           INTEGER PRIMARY KEY,
    product_id   INTEGER NOT NULL CONSTRAINT product_option_product REFERENCES product (id),
    product_name TEXT NOT NULL,
    option_code  TEXT NOT NULL,
    currency     TEXT NOT NULL,
    price        INTEGER NOT NULL CONSTRAINT product_option_price CHECK (price >= 0),
    is_active    INTEGER NOT NULL CONSTRAINT product_option_is_active CHECK (is_active BETWEEN 0 AND 1)
) STRICT;

CREATE TABLE inventory (
    product_option_id INTEGER PRIMARY KEY
        CONSTRAINT inventory_product_option REFERENCES product_option (id),
    received_quantity INTEGER NOT NULL,
    sold_quantity     INTEGER NOT NULL,
    -- Last safeguard against overselling; the engine refuses first.
    CONSTRAINT inventory_not_oversold CHECK (sold_quantity BETWEEN 0 AND received_quantity)
) STRICT;

CREATE TABLE cart_item (
    user_id           TEXT NOT NULL CONSTRAINT cart_item_user REFERENCES users (id),
    product_option_id INTEGER NOT NULL CONSTRAINT cart_item_product_option REFERENCES product_option (id),
    quantity          INTEGER NOT NULL CONSTRAINT cart_item_quantity CHECK (quantity > 0),
    CONSTRAINT cart_item_pk PRIMARY KEY (user_id, product_option_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE orders (
    id              INTEGER PRIMARY KEY,
    -- A reservation is paid at most once. Also used to look up the order of a reservation.
    hold_id         BLOB NOT NULL CONSTRAINT orders_hold UNIQUE,
    user_id         TEXT NOT NULL CONSTRAINT orders_user REFERENCES users (id),
    total_amount    INTEGER NOT NULL,
    discount_amount INTEGER NOT NULL,
    paid_amount     INTEGER NOT NULL,
    coupon_code     TEXT,
    currency        TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    cancelled_at    INTEGER,
    CONSTRAINT orders_amounts CHECK (paid_amount >= 0 AND paid_amount = total_amount - discount_amount)
) STRICT;
-- List by customer, in page order.
CREATE INDEX orders_by_user ON orders (user_id);

-- Sales of stock to holds that are no carts.
CREATE TABLE stock_sale (
    id                INTEGER PRIMARY KEY,
    hold_id           BLOB NOT NULL,
    line_no           INTEGER NOT NULL,
    user_id           TEXT NOT NULL,
    product_option_id INTEGER NOT NULL CONSTRAINT stock_sale_product_option REFERENCES product_option (id),
    quantity          INTEGER NOT NULL CONSTRAINT stock_sale_quantity CHECK (quantity > 0),
    price             INTEGER NOT NULL,
    currency          TEXT NOT NULL,
    sold_at           INTEGER NOT NULL,
    cancelled_at      INTEGER,
    -- A line is confirmed at most once.
    CONSTRAINT stock_sale_line UNIQUE (hold_id, line_no)
) STRICT;

CREATE TABLE order_item (
    order_id          INTEGER NOT NULL CONSTRAINT order_item_order REFERENCES orders (id),
    line_no           INTEGER NOT NULL,
    id                INTEGER NOT NULL,
    product_option_id INTEGER NOT NULL CONSTRAINT order_item_product_option REFERENCES product_option (id),
    product_name      TEXT NOT NULL,
    option_code       TEXT NOT NULL,
    quantity          INTEGER NOT NULL CONSTRAINT order_item_quantity CHECK (quantity > 0),
    unit_price        INTEGER NOT NULL,
    CONSTRAINT order_item_pk PRIMARY KEY (order_id, line_no)
) STRICT, WITHOUT ROWID;

-- Operators search reservations by number. Numbers ascend and are mostly paid in that order, so the index is appended to.
CREATE INDEX order_item_by_reservation ON order_item (id);

CREATE TABLE coupon (
    code          TEXT CONSTRAINT coupon_pk PRIMARY KEY,
    discount_type TEXT NOT NULL CONSTRAINT coupon_discount_type CHECK (discount_type = 'PERCENT' OR discount_type = 'AMOUNT'),
    value         INTEGER NOT NULL CONSTRAINT coupon_value CHECK (value > 0),
    max_uses      INTEGER NOT NULL,
    valid_until   INTEGER,
    issued_count  INTEGER NOT NULL,
    -- The only currency the coupon discounts; NULL: any.
    currency      TEXT,
    CONSTRAINT coupon_not_oversold CHECK (issued_count BETWEEN 0 AND max_uses)
) STRICT, WITHOUT ROWID;

CREATE TABLE user_coupon (
    coupon_code      TEXT NOT NULL CONSTRAINT user_coupon_coupon REFERENCES coupon (code),
    user_id          TEXT NOT NULL CONSTRAINT user_coupon_user REFERENCES users (id),
    used_by_order_id INTEGER,
    CONSTRAINT user_coupon_pk PRIMARY KEY (coupon_code, user_id)
) STRICT, WITHOUT ROWID;

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

-- Hours are read and written as a whole: Monday to Sunday, separated by semicolons. The other columns are the days that
-- remain to be rebuilt.
CREATE TABLE operating_hours (
    room_id            INTEGER PRIMARY KEY CONSTRAINT operating_hours_room REFERENCES room (id),
    weekly             TEXT NOT NULL,
    exceptions         TEXT NOT NULL,
    rebuild_next       TEXT,
    rebuild_until      TEXT,
    rebuild_again_from TEXT,
    -- The days are those where locks prevented a rebuild, and only missing slots are generated.
    rebuild_is_again   INTEGER NOT NULL
        CONSTRAINT operating_hours_rebuild_is_again CHECK (rebuild_is_again BETWEEN 0 AND 1),
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
    hold_id      BLOB NOT NULL,
    line_no      INTEGER NOT NULL,
    room_id      INTEGER NOT NULL CONSTRAINT room_reservation_room REFERENCES room (id),
    user_id      TEXT NOT NULL,
    total_price  INTEGER NOT NULL,
    currency     TEXT NOT NULL,
    first_date   TEXT NOT NULL,
    last_date    TEXT NOT NULL,
    confirmed_at INTEGER NOT NULL,
    cancelled_at INTEGER,
    -- A line is confirmed at most once. Also used to look up the records of a hold.
    CONSTRAINT room_reservation_line UNIQUE (hold_id, line_no)
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
    hold_id      BLOB NOT NULL,
    line_no      INTEGER NOT NULL,
    event_id     INTEGER NOT NULL CONSTRAINT seat_reservation_event REFERENCES ticket_event (id),
    user_id      TEXT NOT NULL,
    total_price  INTEGER NOT NULL CONSTRAINT seat_reservation_total_price CHECK (total_price >= 0),
    currency     TEXT NOT NULL,
    reserved_at  INTEGER NOT NULL,
    cancelled_at INTEGER,
    -- A line is confirmed at most once. Also used to look up the records of a hold.
    CONSTRAINT seat_reservation_line UNIQUE (hold_id, line_no)
) STRICT;
-- List by customer, in page order.
CREATE INDEX seat_reservation_by_user ON seat_reservation (user_id);
-- Reservations of an event, for operators.
CREATE INDEX seat_reservation_by_event ON seat_reservation (event_id);

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
    user_id        TEXT NOT NULL,
    reserved_count INTEGER NOT NULL CONSTRAINT event_buyer_reserved_count CHECK (reserved_count > 0),
    CONSTRAINT event_buyer_pk PRIMARY KEY (event_id, user_id)
) STRICT, WITHOUT ROWID;

-- Position of the outbox relay per partition. An event at or below the position was published unless it is listed as failed.
CREATE TABLE outbox_relay (
    partition_no INTEGER PRIMARY KEY,
    sent_up_to   INTEGER NOT NULL,
    leased_by    INTEGER NOT NULL,
    leased_until INTEGER NOT NULL
) STRICT;

CREATE TABLE outbox_trouble (
    outbox_id    INTEGER PRIMARY KEY,
    partition_no INTEGER NOT NULL,
    retry_count  INTEGER NOT NULL,
    next_try_at  INTEGER NOT NULL,
    failed       INTEGER NOT NULL CONSTRAINT outbox_trouble_failed CHECK (failed BETWEEN 0 AND 1)
) STRICT;

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
    user_id        TEXT NOT NULL,
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
    user_id    TEXT NOT NULL,
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
    user_id    TEXT NOT NULL,
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
    message_id  TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    CONSTRAINT message_inbox_pk PRIMARY KEY (service, message_id)
) STRICT, WITHOUT ROWID;
-- Index for purging old entries. It is appended to, so it is cheap.
CREATE INDEX message_inbox_received_at ON message_inbox (received_at);

-- Ids of events imported from the booking service's store, so that each is imported once. Kept as long as the events.
CREATE TABLE imported_event (
    message_id  TEXT PRIMARY KEY,
    imported_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX imported_event_imported_at ON imported_event (imported_at);

-- Webhooks: subscriptions and deliveries. They belong to the notify service.

CREATE TABLE webhook (
    id          INTEGER PRIMARY KEY,
    url         TEXT NOT NULL,
    -- Prefixes of event types, separated by commas; empty for all.
    types       TEXT NOT NULL,
    secret      TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    -- Last event of the outbox when the webhook was created.
    told_after  INTEGER NOT NULL,
    disabled_at INTEGER
) STRICT;

-- Events with deliveries, each stored once for all its deliveries. The row also records that the event was processed.
CREATE TABLE webhook_event (
    event_id   TEXT NOT NULL CONSTRAINT webhook_event_pk PRIMARY KEY,
    event_type TEXT NOT NULL,
    at         INTEGER NOT NULL,
    data       TEXT NOT NULL,
    deliveries INTEGER NOT NULL CONSTRAINT webhook_event_deliveries CHECK (deliveries > 0)
) STRICT, WITHOUT ROWID;

-- No foreign key to the webhook: deliveries of a deleted webhook are dropped when they become due.
CREATE TABLE webhook_delivery (
    id              INTEGER PRIMARY KEY,
    webhook_id      INTEGER NOT NULL,
    event_id        TEXT NOT NULL,
    event_type      TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    status          TEXT NOT NULL CONSTRAINT webhook_delivery_status
        CHECK (status = 'PENDING' OR status = 'DELIVERED' OR status = 'FAILED'),
    next_attempt_at INTEGER,
    ended_at        INTEGER,
    attempts        INTEGER NOT NULL,
    attempts_before INTEGER NOT NULL,
    last_status     INTEGER,
    last_error      TEXT,
    CONSTRAINT webhook_delivery_pending CHECK ((status = 'PENDING') = (next_attempt_at IS NOT NULL)),
    CONSTRAINT webhook_delivery_ended CHECK ((status = 'PENDING') = (ended_at IS NULL))
) STRICT;
-- Log of a webhook, in page order.
CREATE INDEX webhook_delivery_by_webhook ON webhook_delivery (webhook_id);

-- Pending deliveries by webhook, earliest first, so that a long queue of one webhook delays no other.
CREATE TABLE webhook_due (
    webhook_id  INTEGER NOT NULL,
    due_at      INTEGER NOT NULL,
    delivery_id INTEGER NOT NULL,
    CONSTRAINT webhook_due_pk PRIMARY KEY (webhook_id, due_at, delivery_id)
) STRICT, WITHOUT ROWID;
