-- Random id of this installation, for names that must be unique among several.
CREATE TABLE installation (
    only_row INTEGER PRIMARY KEY CONSTRAINT installation_only_row CHECK (only_row = 1),
    id       TEXT NOT NULL
) STRICT;
INSERT INTO installation VALUES (1, lower(hex(randomblob(16))));
