-- Returns a part's cache version, a new one if it has none. Returns nil while an invalidation intent stands.
--
-- KEYS  the part's hash
-- ARGV  a new version, the time, the time to live of a version (both in milliseconds)
--
-- Expired intents are removed.
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
    if fields[i] ~= 'cache_version' then
        if tonumber(fields[i + 1]) > tonumber(ARGV[2]) then
            return false
        end
        redis.call('HDEL', KEYS[1], fields[i])
    end
end
if redis.call('HSETNX', KEYS[1], 'cache_version', ARGV[1]) == 1 then
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return redis.call('HGET', KEYS[1], 'cache_version')
