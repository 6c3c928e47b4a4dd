-- Where locks were in the way of new hours, slots are rebuilt once more: then only what is missing is made.
ALTER TABLE operating_hours ADD COLUMN rebuild_is_again boolean NOT NULL DEFAULT false;
