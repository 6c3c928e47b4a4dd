-- What was reserved of an event, for its operators.
CREATE INDEX seat_reservation_by_event ON seat_reservation (event_id);
