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
    user_id           TEXT    NOT NULL CONSTRAINT cart_item_user REFERENCES users (id),
    product_option_id INTEGER NOT NULL CONSTRAINT cart_item_product_option REFERENCES product_option (id),
    quantity          INTEGER NOT NULL CONSTRAINT cart_item_quantity CHECK (quantity > 0),
    CONSTRAINT cart_item_pk PRIMARY KEY (user_id, product_option_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE orders (
    id              INTEGER PRIMARY KEY,
    -- A reservation is paid at most once. Also used to look up the order of a reservation.
    hold_id         BLOB NOT NULL CONSTRAINT orders_hold UNIQUE,
    user_id         TEXT    NOT NULL CONSTRAINT orders_user REFERENCES users (id),
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

CREATE TABLE coupon (
    code          TEXT CONSTRAINT coupon_pk PRIMARY KEY,
    discount_type TEXT NOT NULL CONSTRAINT coupon_discount_type CHECK (discount_type = 'PERCENT' OR discount_type = 'AMOUNT'),
    value         INTEGER NOT NULL CONSTRAINT coupon_value CHECK (value > 0),
    max_uses      INTEGER NOT NULL,
    valid_until   INTEGER,
    issued_count  INTEGER NOT NULL,
    CONSTRAINT coupon_not_oversold CHECK (issued_count BETWEEN 0 AND max_uses)
) STRICT, WITHOUT ROWID;

CREATE TABLE user_coupon (
    coupon_code      TEXT NOT NULL CONSTRAINT user_coupon_coupon REFERENCES coupon (code),
    user_id          TEXT    NOT NULL CONSTRAINT user_coupon_user REFERENCES users (id),
    used_by_order_id INTEGER,
    CONSTRAINT user_coupon_pk PRIMARY KEY (coupon_code, user_id)
) STRICT, WITHOUT ROWID;

-- Reservations: a hold with a row of inventory_reservation per line. Written by a server that owns the database; servers that
-- share it keep them in Redis. Held quantities are counted in memory from live holds, so no index by option, user or time is
-- needed, and a long history costs nothing.
CREATE TABLE order_hold (
    id           BLOB CONSTRAINT order_hold_pk PRIMARY KEY,
    user_id      TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    currency     TEXT NOT NULL,
    total_amount INTEGER NOT NULL,
    state        TEXT NOT NULL,
    record_id    INTEGER,
    replaced_by  BLOB,
    CONSTRAINT order_hold_state 
        CHECK (state = 'HELD' OR state = 'CONFIRMED' OR state = 'CANCELLED' OR state = 'REPLACED'),
    CONSTRAINT order_hold_confirmed CHECK ((state = 'CONFIRMED') = (record_id IS NOT NULL)),
    CONSTRAINT order_hold_replaced CHECK ((state = 'REPLACED') = (replaced_by IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE inventory_reservation (
    hold_id           BLOB NOT NULL CONSTRAINT inventory_reservation_hold REFERENCES order_hold (id) ON DELETE CASCADE,
    line_no           INTEGER NOT NULL,
    id                INTEGER NOT NULL,
    product_option_id INTEGER NOT NULL,
    product_name      TEXT NOT NULL,
    option_code       TEXT NOT NULL,
    quantity          INTEGER NOT NULL CONSTRAINT inventory_reservation_quantity CHECK (quantity > 0),
    unit_price        INTEGER NOT NULL,
    CONSTRAINT inventory_reservation_pk PRIMARY KEY (hold_id, line_no)
) STRICT, WITHOUT ROWID;
