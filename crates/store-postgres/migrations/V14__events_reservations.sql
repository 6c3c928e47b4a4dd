-- Reservations of an event, for operators.
CREATE INDEX seat_reservation_by_event ON seat_reservation (event_id, id);
