-- Writes rows if none of the read set has changed since; all of them or none. It contains no rules of their contents.
--
-- KEYS  the epoch, the latest time, the set of unfinished attempts; then rows, each once:
--       those that must not exist: 1. only compared, 2. also written;
--       3. those written unconditionally;
--       those that must have a version: 4. also written, 5. only compared
-- ARGV  the epoch expected, the time of the read and its maximum age (both in microseconds),
--       the number of rows in each of the five groups, the numbers of attempts to add and to remove;
--       then the versions of 4 and 5,
--       for each row of 2, 3 and 4 its value and time to live (in milliseconds),
--       and the attempts to add and to remove.
--
-- A row begins with its version, 16 characters that are never reused. An expired row has none, so 'absent' could recur
-- unnoticed; therefore every row stays at least three times the maximum age of a read.
--
-- Returns 1: written, 0: conflict, -1: the data is of another epoch.
local call = redis.call
if call('GET', KEYS[1]) ~= ARGV[1] then
    return -1
end
-- If the clock is set back, time stands still until the clock has caught up: time never runs backwards for any reader.
local time = call('TIME')
local now = math.max(time[1] * 1000000 + time[2], tonumber(call('GET', KEYS[2]) or 0))
-- A read from the future is one from before the clock was set back: its age is unknown.
local age = now - ARGV[2]
if age < 0 or age >= tonumber(ARGV[3]) then
    return 0
end

-- Index of the last key of each group.
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
