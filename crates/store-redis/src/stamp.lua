-- A room's stamp, a new one if it has none. Nothing while somebody changes the room.
--
-- KEYS  the room's hash
-- ARGV  a new stamp, the time, how long a stamp lasts (both in milliseconds)
--
-- Names that are over are removed.
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
    if fields[i] ~= 'stamp' then
        if tonumber(fields[i + 1]) > tonumber(ARGV[2]) then
            return false
        end
        redis.call('HDEL', KEYS[1], fields[i])
    end
end
if redis.call('HSETNX', KEYS[1], 'stamp', ARGV[1]) == 1 then
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return redis.call('HGET', KEYS[1], 'stamp')
