-- Days where locks prevented a rebuild for new hours. They are rebuilt again, and only missing slots are generated.
ALTER TABLE operating_hours ADD COLUMN rebuild_is_again INTEGER NOT NULL DEFAULT 0
    CONSTRAINT operating_hours_rebuild_is_again CHECK (rebuild_is_again BETWEEN 0 AND 1);
