-- Where locks were in the way of new hours, slots are rebuilt once more: then only what is missing is made.
ALTER TABLE operating_hours ADD COLUMN rebuild_is_again INTEGER NOT NULL DEFAULT 0
    CONSTRAINT operating_hours_rebuild_is_again CHECK (rebuild_is_again BETWEEN 0 AND 1);
