-- Writes rows if none of those that were read has changed since; all of them or none. It knows no rule of what is in them.
--
-- KEYS  the incarnation, the latest time, the set of unfinished tries, then the rows to compare, then the rows to write
-- ARGV  the incarnation expected, when the rows were read and how old that may be (both in microseconds),
--       how many rows to compare, how many to write, how many tries to note, how many to strike out;
--       then for each row to compare its version ('' if it was not there),
--       for each row to write its value and how long to keep it (in milliseconds),
--       and the tries to note and to strike out.
--
-- A row begins with its version, 16 characters that are never used twice. A row that is gone has none, so 'not there' would
-- come back; but every row stays at least three times as long as a read may be old.
--
-- Answers 1: written, 0: somebody was first, -1: this is not the data it was.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return -1
end
-- Should the clock be set back, time stands still until it has caught up: no reader is told an earlier time than another.
local time = redis.call('TIME')
local now = math.max(time[1] * 1000000 + time[2], tonumber(redis.call('GET', KEYS[2]) or 0))
if now - ARGV[2] >= tonumber(ARGV[3]) then
    return 0
end

local compared, written, noted, struck = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local key, arg = 3, 7
local CHUNK = 1000
for first = 1, compared, CHUNK do
    local last = math.min(first + CHUNK - 1, compared)
    local rows = redis.call('MGET', unpack(KEYS, key + first, key + last))
    for i = first, last do
        local row = rows[i - first + 1]
        if (row and string.sub(row, 1, 16) or '') ~= ARGV[arg + i] then
            return 0
        end
    end
end
key, arg = key + compared, arg + compared

for i = 1, written do
    redis.call('SET', KEYS[key + i], ARGV[arg + 2 * i - 1], 'PX', ARGV[arg + 2 * i])
end
arg = arg + 2 * written

for i = 1, noted do
    redis.call('ZADD', KEYS[3], math.floor(now / 1000000), ARGV[arg + i])
end
arg = arg + noted
for i = 1, struck do
    redis.call('ZREM', KEYS[3], ARGV[arg + i])
end
redis.call('SET', KEYS[2], string.format('%.0f', now))
return 1
