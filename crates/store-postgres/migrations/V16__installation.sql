-- Random id of this installation, for names that must be unique among several.
CREATE TABLE installation (
    only_row boolean CONSTRAINT installation_pk PRIMARY KEY CONSTRAINT installation_only_row CHECK (only_row),
    id       text NOT NULL
);
INSERT INTO installation VALUES (true, replace(gen_random_uuid()::text, '-', ''));
