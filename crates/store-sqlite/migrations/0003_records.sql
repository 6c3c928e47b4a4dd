-- What a hold became is called the same for holds of every kind: its record.
ALTER TABLE stay_hold RENAME COLUMN reservation_id TO record_id;
