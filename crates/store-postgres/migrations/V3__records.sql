-- Holds of every type name their record alike.
ALTER TABLE stay_hold RENAME COLUMN reservation_id TO record_id;

-- Servers that share the database lock the rows of their read set at commit, in the order of table and key, each in the one
-- mode it needs, so that deadlocks are impossible. Rows that were only read are locked too, so that they cannot change before
-- the commit. The functions differ only in table and key, so one function creates them: lock_<table>(one array per key column,
-- versions, written).
CREATE FUNCTION make_lock(name text, keys text[]) RETURNS void LANGUAGE plpgsql AS $make$
DECLARE
    arguments text;
    columns   text;
    matches   text;
    arrays    text;
BEGIN
    SELECT string_agg(format('%I_keys %s[]', key, format_type(atttypid, atttypmod)), ', ' ORDER BY position),
           string_agg(format('%I', key), ', ' ORDER BY position),
           string_agg(format('%1$I = was.%1$I', key), ' AND ' ORDER BY position),
           string_agg(format('%I_keys', key), ', ' ORDER BY position)
    INTO arguments, columns, matches, arrays
    FROM unnest(keys) WITH ORDINALITY AS key_columns (key, position)
    JOIN pg_attribute ON attrelid = name::regclass AND attname = key;
    EXECUTE format($body$
        CREATE FUNCTION %1$I(%2$s, versions bigint[], written boolean[]) RETURNS void LANGUAGE plpgsql AS $lock$
        DECLARE
            was     record;
            current bigint;
        BEGIN
            FOR was IN SELECT * FROM unnest(%3$s, versions, written) AS was (%4$s, version, written) LOOP
                IF was.written THEN
                    SELECT version INTO current FROM %5$I WHERE %6$s FOR NO KEY UPDATE;
                ELSE
                    SELECT version INTO current FROM %5$I WHERE %6$s FOR SHARE;
                END IF;
                PERFORM expect_version(current, was.version);
            END LOOP;
        END $lock$
    $body$, 'lock_' || name, arguments, arrays, columns, name, matches);
END $make$;

DROP FUNCTION lock_room_types, lock_nights, lock_stay_reservations;
SELECT make_lock('room_type', ARRAY['id']);
SELECT make_lock('room_type_stock', ARRAY['room_type_id', 'target_date']);
SELECT make_lock('stay_reservation', ARRAY['id']);
