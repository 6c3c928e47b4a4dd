-- Writes rows if none of those that were read has changed since; all of them or none. It knows no rule of what is in them.
--
-- KEYS  the incarnation, the latest time, the set of unfinished tries; then rows, each once:
--       those that must not be there: 1. only to be compared, 2. to be written, too;
--       3. those to be written whatever is there;
--       those that must have a version: 4. to be written, too, 5. only to be compared
-- ARGV  the incarnation expected, when the rows were read and how old that may be (both in microseconds),
--       how many rows there are of each of the five, how many tries to note, how many to strike out;
--       then the versions of 4 and 5,
--       for each row of 2, 3 and 4 its value and how long to keep it (in milliseconds),
--       and the tries to note and to strike out.
--
-- A row begins with its version, 16 characters that are never used twice. A row that is gone has none, so 'not there' would
-- come back; but every row stays at least three times as long as a read may be old.
--
-- Answers 1: written, 0: somebody was first, -1: this is not the data it was.
local call = redis.call
if call('GET', KEYS[1]) ~= ARGV[1] then
    return -1
end
-- Should the clock be set back, time stands still until it has caught up: no reader is told an earlier time than another.
local time = call('TIME')
local now = math.max(time[1] * 1000000 + time[2], tonumber(call('GET', KEYS[2]) or 0))
-- A read from the future is one from before the clock was set back: how old it is nobody knows.
local age = now - ARGV[2]
if age < 0 or age >= tonumber(ARGV[3]) then
    return 0
end

-- The last key of each kind.
local absent = 3 + ARGV[4]
local created = absent + ARGV[5]
local put = created + ARGV[6]
local replaced = put + ARGV[7]
local present = replaced + ARGV[8]
local noted, struck = tonumber(ARGV[9]), tonumber(ARGV[10])
local arg = 10
local CHUNK = 1000

for first = 4, created, CHUNK do
    if call('EXISTS', unpack(KEYS, first, math.min(first + CHUNK - 1, created))) ~= 0 then
        return 0
    end
end
for first = put + 1, present, CHUNK do
    local rows = call('MGET', unpack(KEYS, first, math.min(first + CHUNK - 1, present)))
    for i = 1, #rows do
        if not rows[i] or string.sub(rows[i], 1, 16) ~= ARGV[arg + i] then
            return 0
        end
    end
    arg = arg + #rows
end

for key = absent + 1, replaced do
    call('SET', KEYS[key], ARGV[arg + 1], 'PX', ARGV[arg + 2])
    arg = arg + 2
end
for i = 1, noted do
    call('ZADD', KEYS[3], math.floor(now / 1000000), ARGV[arg + i])
end
arg = arg + noted
for i = 1, struck do
    call('ZREM', KEYS[3], ARGV[arg + i])
end
call('SET', KEYS[2], string.format('%.0f', now))
return 1
