-- Operators look for a reservation by its number. Numbers are given in ascending order and mostly paid for in that order too,
-- so new entries come to the end of the index.
CREATE INDEX order_item_by_reservation ON order_item (id);
