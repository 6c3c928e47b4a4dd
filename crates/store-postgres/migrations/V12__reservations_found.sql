-- Operators search reservations by number. Numbers ascend and are mostly paid in that order, so the index is appended to.
CREATE INDEX order_item_by_reservation ON order_item (id);
