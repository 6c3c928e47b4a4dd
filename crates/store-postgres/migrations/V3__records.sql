-- What a hold became is called the same for holds of every kind: its record.
ALTER TABLE stay_hold RENAME COLUMN reservation_id TO record_id;

-- Servers that share the database lock what they have read only when they commit, table by table, row by row in the order
-- of keys, each in the one mode it needs: so no two of them ever wait for each other in a circle. What was only read is
-- locked too, against whoever would change it before the commit. The functions are the same for every table but for its name
-- and key, so one makes them: lock_<table>(a column of keys each, versions, written).
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
