-- One event's room: the rules of `room.rs` once more, where several servers share it.
--
-- KEYS  the line by number, the line by deadline, until when each waits, who is ready, who is inside, the room, the caller's
--       entry, the channel
-- ARGV  what to do, event, user, the id of a new entry;
--       revision, max_concurrent, paused (0 or 1), sales_open_at (0: always open);
--       entry_ttl, entry_max, waiter_ttl, ready_ttl in milliseconds; and, in tests, the time.
--
-- Answers an empty list if so much had to be cleared away that it stopped half-way; the caller asks again.
local LINE, DUE, HEARD, READY, INSIDE, ROOM, ENTRY, CHANNEL = unpack(KEYS)
local what, event, user, id = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local entry_ttl, entry_max = tonumber(ARGV[9]), tonumber(ARGV[10])
local waiter_ttl, ready_ttl = tonumber(ARGV[11]), tonumber(ARGV[12])
local test_clock = tonumber(ARGV[13])

local SLICE = 500           -- looked at together
local WORK_MAX = 10000     -- in one run, so that Redis never stops for long
local KEPT = 86400000       -- how long keys stay that nobody uses, beyond what is in them
local STEP, STEPS = 5000, 12 -- as in `rate.rs`

local room = redis.call('HMGET', ROOM, 'now', 'number', 'revision', 'max', 'paused', 'opens', 'kept', 'rate')
local at = tonumber(room[1]) or 0 -- the moment up to which everything is done
local revision = tonumber(room[3])
local max, paused, opens = tonumber(room[4]) or 0, room[5] == '1', tonumber(room[6]) or 0
local rate = room[8] or ''
local waiting, inside, ready =
    redis.call('ZCARD', LINE), redis.call('ZCARD', INSIDE), redis.call('HLEN', READY)
local moved, changed = false, false

local function text(number) return string.format('%.0f', number) end

local now = test_clock
if not now then
    local time = redis.call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
end
-- Should the clock be set back, time stands still until it has caught up.
local clock = now
now = math.max(now, at)

-- Until when one who is ready may enter.
local function ready_of(who)
    return ready > 0 and tonumber(redis.call('HGET', READY, who)) or nil
end

-- When a waiter's time ends. `DUE` has that moment or an earlier one: a poll moves it back without noting so, and the note
-- is corrected when it comes up.
local function deadline_of(who)
    local waits_until = tonumber(redis.call('HGET', HEARD, who)) or 0
    return math.min(waits_until, ready_of(who) or waits_until)
end

-- Makes those ready, as of `at`, who shall be, and no others. They are always the first ones.
local function settle()
    local wanted = 0
    if revision and not paused and opens <= at then
        wanted = math.max(0, math.min(max - inside, waiting))
    end
    while ready < wanted do
        local last = math.min(wanted, ready + SLICE) - 1
        for _, who in ipairs(redis.call('ZRANGE', LINE, ready, last)) do
            redis.call('HSET', READY, who, text(at + ready_ttl))
            ready = ready + 1
            redis.call('ZADD', DUE, deadline_of(who), who)
        end
        moved, changed = true, true
    end
    while ready > wanted do
        local first = math.max(wanted, ready - SLICE)
        for _, who in ipairs(redis.call('ZRANGE', LINE, first, ready - 1)) do
            redis.call('HDEL', READY, who)
        end
        ready = first
        moved, changed = true, true
    end
end

local function drop_waiter(who)
    redis.call('ZREM', LINE, who)
    redis.call('ZREM', DUE, who)
    redis.call('HDEL', HEARD, who)
    waiting = waiting - 1
    ready = ready - redis.call('HDEL', READY, who)
    moved = true
end

local gone = {}

local function flush_gone()
    if #gone == 0 then return end
    redis.call('ZREM', LINE, unpack(gone))
    redis.call('ZREM', DUE, unpack(gone))
    redis.call('HDEL', HEARD, unpack(gone))
    waiting, moved = waiting - #gone, true
    gone = {}
end

-- Ends the time of those waiters, who are in the order of their notes: { who, when, who, when … }. Those who are not ready
-- make nobody else ready by losing their places, so they go many at a time. Whoever becomes ready on the way, or turns out to
-- have been heard of, gets a new deadline, so it stops at the first that might come after that one. Says how much work it was.
local function drop_due(due)
    local work, new_deadline = 0, math.huge
    for i = 1, #due, 2 do
        local who, noted = due[i], tonumber(due[i + 1])
        if noted > new_deadline then break end
        local deadline = deadline_of(who)
        if deadline > noted then
            redis.call('ZADD', DUE, deadline, who)
            new_deadline = math.min(new_deadline, deadline)
            work = work + 2
        else
            at = math.max(at, noted)
            if ready_of(who) then
                flush_gone()
                drop_waiter(who)
                settle()
                new_deadline = math.min(new_deadline, at + ready_ttl)
                work = work + 5
            else
                gone[#gone + 1] = who
                work = work + 1
            end
        end
    end
    flush_gone()
    return work
end

-- Ends what time has ended, in the order of those moments up to `now`. False if that was too much for one run.
local function advance()
    local work = 0
    while work < WORK_MAX do
        -- The next moment at which something other than a waiter's time ends.
        local horizon, is_due, exclude = now, false, ''
        local entry = redis.call('ZRANGE', INSIDE, 0, 0, 'WITHSCORES')
        if entry[2] and tonumber(entry[2]) <= horizon then
            horizon, is_due = tonumber(entry[2]), true
        end
        if opens > at and opens <= horizon then
            -- That moment is not passed before sales have opened, not even by one whose time ends just then.
            horizon, is_due, exclude = opens, true, '('
        end
        local due = redis.call('ZRANGEBYSCORE', DUE, '-inf', exclude .. text(horizon), 'WITHSCORES', 'LIMIT', 0, SLICE)
        if #due > 0 then
            work = work + drop_due(due)
        elseif is_due then
            at = math.max(at, horizon)
            redis.call('ZREMRANGEBYSCORE', INSIDE, '-inf', text(horizon))
            local left = redis.call('ZCARD', INSIDE)
            work = work + 5 * (inside - left) + 1
            inside = left
            settle()
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
    -- Goes away with the entry. A test's time is not that of Redis.
    local left = test_clock and KEPT or expires_at - clock
    redis.call('SET', ENTRY, entry_id .. ' ' .. text(entered_at), 'PX', text(left))
end

local function drop_entry()
    redis.call('DEL', ENTRY)
    local had = redis.call('ZREM', INSIDE, user)
    inside = inside - had
    settle()
    return had
end

-- The caller's entry: id, when it was made, when it ends.
local function entry()
    local expires_at = redis.call('ZSCORE', INSIDE, user)
    if not expires_at then return nil end
    local entry_id, entered_at = string.match(redis.call('GET', ENTRY) or '', '^(%x+) (%d+)$')
    if not entry_id then
        -- Somebody has deleted it by hand: then it is over.
        drop_entry()
        return nil
    end
    return entry_id, tonumber(entered_at), tonumber(expires_at)
end

-- A waiter is there. False if the caller is none.
local function hear_of()
    if redis.call('HEXISTS', HEARD, user) == 0 then return false end
    redis.call('HSET', HEARD, user, text(at + waiter_ttl))
    return true
end

local done = 0
local is_through = advance()

if is_through then
    local given = { tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7] == '1', tonumber(ARGV[8]) }
    local is_other = given[2] ~= max or given[3] ~= paused or given[4] ~= opens or given[1] ~= revision
    if not revision or (given[1] >= revision and is_other) then
        revision, max, paused, opens = given[1], given[2], given[3], given[4]
        redis.call('HSET', ROOM, 'revision', text(revision), 'max', text(max), 'paused', paused and 1 or 0,
            'opens', text(opens))
        changed = true
        settle()
    end

    if what == 'join' then
        if not entry() and not hear_of() then
            redis.call('ZADD', LINE, redis.call('HINCRBY', ROOM, 'number', 1), user)
            redis.call('ZADD', DUE, at + waiter_ttl, user)
            redis.call('HSET', HEARD, user, text(at + waiter_ttl))
            waiting, done, changed = waiting + 1, 1, true
            settle()
        end
    elseif what == 'poll' then
        if not hear_of() then
            local entry_id, entered_at, expires_at = entry()
            if entry_id then
                local renewed = math.min(at + entry_ttl, entered_at + entry_max)
                if renewed > expires_at then write_entry(entry_id, entered_at, renewed) end
            end
        end
    elseif what == 'enter' then
        if hear_of() and ready_of(user) then
            drop_waiter(user)
            inside = inside + 1
            write_entry(id, at, at + math.min(entry_ttl, entry_max))
            count_admission()
            redis.call('HSET', ROOM, 'rate', rate)
            done, changed = 1, true
            redis.call('PUBLISH', CHANNEL, 'admitted ' .. event .. ' ' .. user .. ' ' .. text(at))
            settle()
        end
    elseif what == 'leave' then
        if redis.call('HEXISTS', HEARD, user) == 1 then
            drop_waiter(user)
            done = 1
            settle()
        else
            done = drop_entry()
        end
    elseif what == 'give_back' then
        done = drop_entry()
    end
end

redis.call('HSET', ROOM, 'now', text(at))
if moved then redis.call('PUBLISH', CHANNEL, 'moved ' .. event) end
-- Every key goes away by itself. Those that may be new are told so at once, the others now and then.
if changed or at - (tonumber(room[7]) or 0) > 60000 then
    local keep = text(KEPT + math.max(entry_max, waiter_ttl, ready_ttl))
    for _, key in ipairs({ LINE, DUE, HEARD, READY, INSIDE, ROOM }) do redis.call('PEXPIRE', key, keep) end
    redis.call('HSET', ROOM, 'kept', text(at))
end
if not is_through then return {} end

local answer = { tostring(done), '', text(at), text(waiting - ready), text(ready), text(inside), text(max),
    paused and '1' or '0', text(opens), text(admitted_per_minute()) }
if what == 'configure' or what == 'stats' then return answer end
local rank = redis.call('ZRANK', LINE, user)
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
