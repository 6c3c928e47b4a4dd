-- State machine of one event's room, shared by several servers. Repeats the rules of `room.rs`.
--
-- KEYS  waiters by number, waiters by deadline, end of each waiter's place, ready users, users inside, the room, the caller's
--       entry, the channel
-- ARGV  action, event, user, the id of a new entry;
--       revision, max_concurrent, paused (0 or 1), sales_open_at (0: always open);
--       entry_ttl, entry_max, waiter_ttl, ready_ttl in milliseconds; and, in tests, the time.
--
-- Returns an empty list if one run could not apply all deadlines; the caller runs the script again.
local QUEUE, DUE, WAITING_UNTIL, READY, INSIDE, ROOM, ENTRY, CHANNEL = unpack(KEYS)
local action, event, user, id = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local entry_ttl, entry_max = tonumber(ARGV[9]), tonumber(ARGV[10])
local waiter_ttl, ready_ttl = tonumber(ARGV[11]), tonumber(ARGV[12])
local test_clock = tonumber(ARGV[13])

local BATCH = 500           -- members per command
local WORK_MAX = 10000     -- work per run, so that Redis is not blocked for long
local KEY_TTL = 86400000       -- milliseconds that unused keys outlive their contents
local STEP, STEPS = 5000, 12 -- as in `rate.rs`

local room = redis.call('HMGET', ROOM, 'now', 'number', 'revision', 'max', 'paused', 'opens', 'kept', 'rate')
local at = tonumber(room[1]) or 0 -- the moment up to which all deadlines are applied
local revision = tonumber(room[3])
local max, paused, opens = tonumber(room[4]) or 0, room[5] == '1', tonumber(room[6]) or 0
local rate = room[8] or ''
local waiting, inside, ready =
    redis.call('ZCARD', QUEUE), redis.call('ZCARD', INSIDE), redis.call('HLEN', READY)
local has_moved, has_changed = false, false

local function text(number) return string.format('%.0f', number) end

local now = test_clock
if not now then
    local time = redis.call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
end
-- If the clock is set back, time stands still until the clock has caught up.
local clock = now
now = math.max(now, at)

-- End of a ready user's turn; nil if the user is not ready.
local function ready_of(member)
    return ready > 0 and tonumber(redis.call('HGET', READY, member)) or nil
end

-- Deadline of a waiter. `DUE` has that moment or an earlier one: a poll extends it without an update, and the entry is
-- corrected when it comes up.
local function deadline_of(member)
    local waits_until = tonumber(redis.call('HGET', WAITING_UNTIL, member)) or 0
    return math.min(waits_until, ready_of(member) or waits_until)
end

-- Makes the first waiters ready, as of `at`, as far as there is space, and no others.
local function update_ready()
    local target = 0
    if revision and not paused and opens <= at then
        target = math.max(0, math.min(max - inside, waiting))
    end
    while ready < target do
        local last = math.min(target, ready + BATCH) - 1
        for _, member in ipairs(redis.call('ZRANGE', QUEUE, ready, last)) do
            redis.call('HSET', READY, member, text(at + ready_ttl))
            ready = ready + 1
            redis.call('ZADD', DUE, deadline_of(member), member)
        end
        has_moved, has_changed = true, true
    end
    while ready > target do
        local first = math.max(target, ready - BATCH)
        for _, member in ipairs(redis.call('ZRANGE', QUEUE, first, ready - 1)) do
            redis.call('HDEL', READY, member)
        end
        ready = first
        has_moved, has_changed = true, true
    end
end

local function drop_waiter(member)
    redis.call('ZREM', QUEUE, member)
    redis.call('ZREM', DUE, member)
    redis.call('HDEL', WAITING_UNTIL, member)
    waiting = waiting - 1
    ready = ready - redis.call('HDEL', READY, member)
    has_moved = true
end

local expired = {}

local function remove_expired()
    if #expired == 0 then return end
    redis.call('ZREM', QUEUE, unpack(expired))
    redis.call('ZREM', DUE, unpack(expired))
    redis.call('HDEL', WAITING_UNTIL, unpack(expired))
    waiting, has_moved = waiting - #expired, true
    expired = {}
end

-- Expires waiters, given in the order of `DUE`: { user, time, user, time … }. Waiters that are not ready make no other user
-- ready by expiring, so they are removed many at a time. A waiter that becomes ready meanwhile, or has polled, gets a new
-- deadline; the loop stops at the first entry that might come after it. Returns the amount of work.
local function expire_waiters(due)
    local work, new_deadline = 0, math.huge
    for i = 1, #due, 2 do
        local member, listed_at = due[i], tonumber(due[i + 1])
        if listed_at > new_deadline then break end
        local deadline = deadline_of(member)
        if deadline > listed_at then
            redis.call('ZADD', DUE, deadline, member)
            new_deadline = math.min(new_deadline, deadline)
            work = work + 2
        else
            at = math.max(at, listed_at)
            if ready_of(member) then
                remove_expired()
                drop_waiter(member)
                update_ready()
                new_deadline = math.min(new_deadline, at + ready_ttl)
                work = work + 5
            else
                expired[#expired + 1] = member
                work = work + 1
            end
        end
    end
    remove_expired()
    return work
end

-- Applies all deadlines up to `now` in their order. False if one run could not apply all.
local function advance()
    local work = 0
    while work < WORK_MAX do
        -- The next event other than a waiter's deadline.
        local horizon, is_due, exclude = now, false, ''
        local entry = redis.call('ZRANGE', INSIDE, 0, 0, 'WITHSCORES')
        if entry[2] and tonumber(entry[2]) <= horizon then
            horizon, is_due = tonumber(entry[2]), true
        end
        if opens > at and opens <= horizon then
            -- Sales open before any deadline at the same moment is applied.
            horizon, is_due, exclude = opens, true, '('
        end
        local due = redis.call('ZRANGEBYSCORE', DUE, '-inf', exclude .. text(horizon), 'WITHSCORES', 'LIMIT', 0, BATCH)
        if #due > 0 then
            work = work + expire_waiters(due)
        elseif is_due then
            at = math.max(at, horizon)
            redis.call('ZREMRANGEBYSCORE', INSIDE, '-inf', text(horizon))
            local left = redis.call('ZCARD', INSIDE)
            work = work + 5 * (inside - left) + 1
            inside = left
            update_ready()
        else
            at = now
            return true
        end
    end
    return false
end

local function admitted_per_minute()
    local first, sum = math.floor(at / STEP) - STEPS, 0
    for step, count in string.gmatch(rate, '(%d+):(%d+)') do
        if tonumber(step) > first then sum = sum + tonumber(count) end
    end
    return sum
end

local function count_admission()
    local this = math.floor(at / STEP)
    local kept, mine = {}, 1
    for step, count in string.gmatch(rate, '(%d+):(%d+)') do
        if tonumber(step) == this then
            mine = mine + tonumber(count)
        elseif tonumber(step) > this - STEPS then
            kept[#kept + 1] = step .. ':' .. count
        end
    end
    kept[#kept + 1] = text(this) .. ':' .. text(mine)
    rate = table.concat(kept, ' ')
end

local function write_entry(entry_id, entered_at, expires_at)
    redis.call('ZADD', INSIDE, expires_at, user)
    -- The key expires with the entry. A test's clock is not that of Redis.
    local left = test_clock and KEY_TTL or expires_at - clock
    redis.call('SET', ENTRY, entry_id .. ' ' .. text(entered_at), 'PX', text(left))
end

local function drop_entry()
    redis.call('DEL', ENTRY)
    local had = redis.call('ZREM', INSIDE, user)
    inside = inside - had
    update_ready()
    return had
end

-- The caller's entry: id, start, end.
local function entry()
    local expires_at = redis.call('ZSCORE', INSIDE, user)
    if not expires_at then return nil end
    local entry_id, entered_at = string.match(redis.call('GET', ENTRY) or '', '^(%x+) (%d+)$')
    if not entry_id then
        -- The key was deleted by hand: the entry has ended.
        drop_entry()
        return nil
    end
    return entry_id, tonumber(entered_at), tonumber(expires_at)
end

-- Extends the caller's place. False if there is none.
local function refresh_waiter()
    if redis.call('HEXISTS', WAITING_UNTIL, user) == 0 then return false end
    redis.call('HSET', WAITING_UNTIL, user, text(at + waiter_ttl))
    return true
end

local done = 0
local is_finished = advance()

if is_finished then
    local given = { tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7] == '1', tonumber(ARGV[8]) }
    local differs = given[2] ~= max or given[3] ~= paused or given[4] ~= opens or given[1] ~= revision
    if not revision or (given[1] >= revision and differs) then
        revision, max, paused, opens = given[1], given[2], given[3], given[4]
        redis.call('HSET', ROOM, 'revision', text(revision), 'max', text(max), 'paused', paused and 1 or 0,
            'opens', text(opens))
        has_changed = true
        update_ready()
    end

    if action == 'join' then
        if not entry() and not refresh_waiter() then
            redis.call('ZADD', QUEUE, redis.call('HINCRBY', ROOM, 'number', 1), user)
            redis.call('ZADD', DUE, at + waiter_ttl, user)
            redis.call('HSET', WAITING_UNTIL, user, text(at + waiter_ttl))
            waiting, done, has_changed = waiting + 1, 1, true
            update_ready()
        end
    elseif action == 'poll' then
        if not refresh_waiter() then
            local entry_id, entered_at, expires_at = entry()
            if entry_id then
                local renewed = math.min(at + entry_ttl, entered_at + entry_max)
                if renewed > expires_at then write_entry(entry_id, entered_at, renewed) end
            end
        end
    elseif action == 'enter' then
        if refresh_waiter() and ready_of(user) then
            drop_waiter(user)
            inside = inside + 1
            write_entry(id, at, at + math.min(entry_ttl, entry_max))
            count_admission()
            redis.call('HSET', ROOM, 'rate', rate)
            done, has_changed = 1, true
            redis.call('PUBLISH', CHANNEL, 'admitted ' .. event .. ' ' .. user .. ' ' .. text(at))
            update_ready()
        end
    elseif action == 'leave' then
        if redis.call('HEXISTS', WAITING_UNTIL, user) == 1 then
            drop_waiter(user)
            done = 1
            update_ready()
        else
            done = drop_entry()
        end
    elseif action == 'give_back' then
        done = drop_entry()
    end
end

redis.call('HSET', ROOM, 'now', text(at))
if has_moved then redis.call('PUBLISH', CHANNEL, 'moved ' .. event) end
-- Every key expires: new keys get their time to live at once, the others about once a minute.
if has_changed or at - (tonumber(room[7]) or 0) > 60000 then
    local keep = text(KEY_TTL + math.max(entry_max, waiter_ttl, ready_ttl))
    for _, key in ipairs({ QUEUE, DUE, WAITING_UNTIL, READY, INSIDE, ROOM }) do redis.call('PEXPIRE', key, keep) end
    redis.call('HSET', ROOM, 'kept', text(at))
end
if not is_finished then return {} end

local answer = { tostring(done), '', text(at), text(waiting - ready), text(ready), text(inside), text(max),
    paused and '1' or '0', text(opens), text(admitted_per_minute()) }
if action == 'configure' or action == 'stats' then return answer end
local rank = redis.call('ZRANK', QUEUE, user)
if rank then
    local ready_until = ready_of(user)
    answer[2], answer[11] = ready_until and 'ready' or 'waiting', text(rank)
    if ready_until then answer[12] = text(ready_until) end
    return answer
end
local entry_id, entered_at, expires_at = entry()
if entry_id then
    answer[2], answer[11], answer[12], answer[13] = 'entered', entry_id, text(entered_at), text(expires_at)
end
return answer
