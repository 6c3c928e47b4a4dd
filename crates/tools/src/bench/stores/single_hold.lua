-- Places one hold of one night in one step.
-- KEYS: the user's hold of these dates, the hold of the client key, the hold itself, the number of holds on the night
-- ARGV: id of the new hold, its JSON, time to live in seconds, capacity of the night
local own = redis.call('GET', KEYS[1])
local same_key = redis.call('GET', KEYS[2])
if same_key and same_key ~= own then
    return redis.status_reply('KEY_CONFLICT')
end
local held = tonumber(redis.call('GET', KEYS[4]) or '0')
if own then
    held = held - 1
end
if held >= tonumber(ARGV[4]) then
    return redis.status_reply('NOT_AVAILABLE')
end
if own then
    -- The same user asks for the same dates again: the old hold ends.
    redis.call('DEL', 'hold:' .. own)
    redis.call('DECR', KEYS[4])
end
redis.call('SET', KEYS[3], ARGV[2], 'EX', ARGV[3])
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[3])
redis.call('SET', KEYS[2], ARGV[1], 'EX', ARGV[3])
redis.call('INCR', KEYS[4])
redis.call('EXPIRE', KEYS[4], ARGV[3])
return redis.status_reply('HELD')
