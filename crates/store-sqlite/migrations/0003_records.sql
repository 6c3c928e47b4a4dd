-- Holds of every type name their record alike.
ALTER TABLE stay_hold RENAME COLUMN reservation_id TO record_id;
