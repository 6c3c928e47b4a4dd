-- Days where locks prevented a rebuild for new hours. They are rebuilt again, and only missing slots are generated.
ALTER TABLE operating_hours ADD COLUMN rebuild_is_again boolean NOT NULL DEFAULT false;
