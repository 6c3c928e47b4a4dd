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

CREATE TABLE coupon (
    code          text CONSTRAINT coupon_pk PRIMARY KEY,
    discount_type text NOT NULL CONSTRAINT coupon_discount_type CHECK (discount_type IN ('PERCENT', 'AMOUNT')),
    value         bigint NOT NULL CONSTRAINT coupon_value CHECK (value > 0),
    max_uses      integer NOT NULL,
    valid_until   timestamptz,
    issued_count  integer NOT NULL,
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

-- Reservations: a hold with a row of inventory_reservation per line. Written by a server that owns the database; servers that
-- share it keep them in Redis. Held quantities are counted in memory from live holds, so no index by option, user or time is
-- needed, and a long history costs nothing.
CREATE TABLE order_hold (
    id           uuid CONSTRAINT order_hold_pk PRIMARY KEY,
    user_id      text COLLATE "C" NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    currency     text NOT NULL,
    total_amount bigint NOT NULL,
    state        text NOT NULL,
    record_id    bigint,
    replaced_by  uuid,
    version      bigint NOT NULL DEFAULT 0,
    CONSTRAINT order_hold_state CHECK (state IN ('HELD', 'CONFIRMED', 'CANCELLED', 'REPLACED')),
    CONSTRAINT order_hold_confirmed CHECK ((state = 'CONFIRMED') = (record_id IS NOT NULL)),
    CONSTRAINT order_hold_replaced CHECK ((state = 'REPLACED') = (replaced_by IS NOT NULL))
);

CREATE TABLE inventory_reservation (
    hold_id           uuid NOT NULL CONSTRAINT inventory_reservation_hold REFERENCES order_hold (id) ON DELETE CASCADE,
    line_no           integer NOT NULL,
    id                bigint NOT NULL,
    product_option_id bigint NOT NULL,
    product_name      text NOT NULL,
    option_code       text NOT NULL,
    quantity          integer NOT NULL CONSTRAINT inventory_reservation_quantity CHECK (quantity > 0),
    unit_price        bigint NOT NULL,
    CONSTRAINT inventory_reservation_pk PRIMARY KEY (hold_id, line_no)
);

SELECT make_lock('users', ARRAY['id']);
SELECT make_lock('product', ARRAY['id']);
SELECT make_lock('product_option', ARRAY['id']);
SELECT make_lock('inventory', ARRAY['product_option_id']);
SELECT make_lock('cart_item', ARRAY['user_id', 'product_option_id']);
SELECT make_lock('orders', ARRAY['id']);
SELECT make_lock('coupon', ARRAY['code']);
SELECT make_lock('user_coupon', ARRAY['coupon_code', 'user_id']);
