-- turn: one turn of one worker at one slot. It finishes the batch the worker holds, then takes the next one, atomically.
--
-- GUARANTEE
--   What is in `prepare` is the one batch of this slot that is in flight. Nothing is taken while
--   it is not empty, so no two workers hold messages of one slot, whoever believes to own it.
--   A batch is all fresh (first deliveries) or one retry alone, so one attempt number fits all of it, and a message that kills
--   its worker dies without its neighbours. It is 256 contents at most, and 1 MiB of them or one alone: fit for a slow link.
--
-- WHO MAY TAKE   any worker whose request names the slot's present number, while prepare is empty and the slot is not paused. One
--   that names another number is told it and takes nothing, so a late duplicate is harmless. (A slot never touched has number 0.)
-- WHO MAY TAKE OVER   a batch of another holder is given back to the queue only if that holder's own lease, stored with the batch, is over
--   by this server's clock; or the holder is the one the asker has proven dead; or nobody knows the holder, because meta was deleted. Its
--   contents spend an attempt: the batch may have killed it. The answer is NUMBER, and the next turn takes.
-- A REPEATED REQUEST   changes nothing twice: holder and number say whether it was applied. A worker that
--   holds a batch whose answer got lost is told that batch again, whatever else it asked, with its lease
--   begun anew. (If it is larger than may be told, an older program took it. The surplus was not started, and
--   goes back; the rest is a batch of another number.) NUMBER or BUSY in answer to verdicts means: your batch was taken over.
-- WHILE A RETRY IS DUE   in a priority slot with fresh ones, one delivery in eight is a retry: 7 fresh ones may pass it, or a batch
--   of them, which is then made up for. In the other kinds the older one comes first. A worker may want a retry first.
-- A FRESH COPY   a content sent again while an older copy of it is in flight or waits for its retry wins:
--   the old copy is dropped when it comes back, even to die, when it comes due, or when the fresh one is
--   taken; and the fresh one has the full 17 deliveries. A content that is dead may wait as well. If the old
--   copy was a first delivery of a range merge, and was not started, its time stays: it was the first one.
-- PUT BACK   by its handler, a content waits for so many ms, and spends no attempt: a first delivery of a time kind
--   in the store, a retry in `retry`, and a first delivery with a priority there, too, its priority in `why`. When
--   its time has come it stands in the store again, before anything is chosen. It may be put back for ever.
-- DEAD   when its 17th delivery failed or was taken over (no retries left), or its worker said so.
--
-- KEYS  1 store  content -> due ms, or priority (both above 16), or 1..16: retries left of a failed one
--       2 prepare  content -> second it was taken * 1000 + retries left if this delivery fails
--       3 retry  content -> due ms * 100 + retries left, as above (17: a first delivery that was not started, or was put back, and whose
--               priority nobody knows; 18: one that was put back and whose priority stands in `why`)
--       4 dead  content -> ms of death
--       5 meta  holder, batch (its number; only grows, and past the clock in us), until (end of its lease, ms), lease (ms; 0: none),
--               paused (if set, nothing is taken), why (set while `why` may name contents not dead, and while the store may hold
--               failed ones), passed (how many fresh ones went before retries that were due, 7 taken off for each of these),
--               later (priorities: when the last of those that were put back is due, ms), mourned (deaths.lua has it; taken
--               away where one dies at a ms that is not above its second number, up to which deaths were returned)
--       6 why  content -> 'attempts first last priority worker reason', of retrying and dead ones, and with 0
--               attempts of first deliveries that were put back
-- ARGV  1 'P' priority: larger first; 'T' fixed time or 'R' range merge: due ones, oldest first; 'TD', 'RD': and tell when each was
--         due; and at the end F: but a retry first, or N: one first delivery alone, in place ARGV 6 or the last one       2 me
--       3 number of the slot as I know it, 0: unknown     4 holder proven dead, or ''
--       5 my lease in ms, 0: I am judged by ZooKeeper     6 how many contents, up to 256; 0: leave the slot
--       7 a random integer, draws among equal priorities     8 delay in ms for contents of a batch taken over
--       9 1: I hold nothing, so a batch of mine in flight is told again (Redis forgot in a failover what I said of it); 0: I hold
--           the batch of that number, if any
--       10.. in fours, what was not done in my batch (whatever is not listed is done):
--           content,  >= 0 failed, delay ms of its retry | -1 failed, dead now | -2 not started | below -2 put back by
--           its handler for -2 - n ms,  its priority, or (-2) when it was due, or '' if unknown,  reason
-- ANSWERS
--   BATCH number, attempt 1..17, k, k contents, told   I hold this batch. Told: of a retry its entry of `why`, if there is one; of
--         first deliveries their priorities, one for each content or one for all, or with 'D' when each was due; nothing in
--         other topics, and when first deliveries are told again
--   EMPTY number, ms until the next is due or '' (0: more had been put back than one turn can put into its place: ask again),
--         us of the present ms that are over: to be precise
--   NUMBER number: nothing taken, use this number
--   BUSY holder, ms of its lease    PAUSED number    LEFT number: I hold nothing, and late duplicates of my turns can take nothing
local store, prepare, retry, dead, meta, why = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local kind, tells_due, wanted = string.sub(ARGV[1], 1, 1), string.sub(ARGV[1], 2, 2) == 'D', string.sub(ARGV[1], -1)
local me, known, count = ARGV[2], tonumber(ARGV[3]), math.min(tonumber(ARGV[6]), 256)
local RETRIES, BACK, PASS, LARGEST, FIRST_VERDICT, MOST, call = 16, 18, 7, 2 ^ 53, 10, 1048576, redis.call

local time = call('TIME')
local second = tonumber(time[1])
local now = second * 1000 + math.floor(time[2] / 1000)
local m = call('HMGET', meta, 'holder', 'batch', 'until', 'lease', 'paused', 'why', 'passed', 'later')
local holder, batch = m[1] or '', math.floor(tonumber(m[2]) or 0)
if not (batch >= 0 and batch < LARGEST) then batch = 0 end   -- nothing RMQ writes
-- Even small numbers are texts below, which costs less. tostring() keeps 14 digits only, and %d what a long of the server can.
local whole = string.format('%d', LARGEST) == string.format('%.0f', LARGEST) and '%d' or '%.0f'
local function int(x) return string.format(whole, x) end
-- A number past every one that Redis may have forgotten: no slot has as many batches as there are us.
local following = int(math.max(batch + 1, second * 1000000 + time[2]))
local function wait(till) return int(math.floor(math.max(0, math.min(till - now, 1e12)))) end
-- Anybody may add to a sorted set, with any score. The retries left are 0 to 16 whatever it is; the rest of
-- an infinity is no number, for which min takes the 16.
local function retries_in(score) return math.max(0, math.min(RETRIES, math.floor(score))) end

-- Lets `why` forget contents that are done. What explains a death stays.
local function forget(done)
  if not m[6] or not done[1] then return end
  local buried, names = call('ZMSCORE', dead, unpack(done)), {}
  for i = 1, #done do
    if not buried[i] then names[#names + 1] = done[i] end
  end
  if names[1] then call('HDEL', why, unpack(names)) end
  if call('HLEN', why) > call('ZCARD', dead) then return end
  -- A failed one in the store may have its record in common with an older copy that is dead.
  local low = call('ZRANGE', store, 0, 0, 'WITHSCORES')[2]
  if tonumber(low or math.huge) > RETRIES then call('HDEL', meta, 'why') end
end

-- How many bytes some contents have, which come with scores if the step is 2.
local function bytes_of(few, step)
  local bytes = 0
  for i = 1, #few, step do bytes = bytes + #few[i] end
  return bytes
end
local function mean_of(few, step) return step * bytes_of(few, step) / #few end
local x, told = {}, {}                            -- what is told: x, and of each or of all of them `told`
-- Takes the first few, if they are all there are and may be one batch. Mostly they are, and then nothing more is read.
local function take_all(few, asked, step)
  local n = #few / step
  if n == 0 or n == asked or bytes_of(few, step) > MOST then return false end
  for i = 1, n do x[i], told[i] = few[step * (i - 1) + 1], step == 2 and few[2 * i] or nil end
  return true
end
-- Reads contents into x after the first `at`: n, or as many as may be in one batch with those, and tells how many
-- and whether that was why. fetch(from, n) brings a piece, with scores if the step is 2. In pieces, as large as
-- the mean lets expect, because what is read costs Redis time and memory even if it is not taken.
local function read(at, n, mean, step, fetch)
  local bytes, k = 0, at
  for i = 1, at do bytes = bytes + #x[i] end
  while k < at + n do
    local size = math.max(1, math.min(64, at + n - k, math.floor((MOST - bytes) / mean)))
    local piece, before = fetch(k - at, size), k
    for i = 1, #piece, step do bytes = bytes + #piece[i] end
    k = k + #piece / step
    if step == 2 then
      for i = 1, k - before do x[before + i], told[before + i] = piece[2 * i - 1], piece[2 * i] end
    elseif before > 0 then
      for i = 1, k - before do x[before + i] = piece[i] end
    else
      x = piece                                   -- mostly the only one
    end
    if bytes > MOST and k > 1 then
      repeat
        bytes = bytes - #x[k]
        if step == 2 then told[k] = nil end       -- else it is the level's, and another one may take its place
        x[k], k = nil, k - 1
      until bytes <= MOST or k == 1
      return k - at, true
    end
    if k < before + size then break end           -- there are no more
    mean = bytes / k
  end
  return k - at, false
end

-- 1. Finish.
local mine = holder == me and known == batch and ARGV[9] ~= '1'
if mine and #ARGV < FIRST_VERDICT then            -- all of it is done
  if m[6] then forget(call('ZRANGE', prepare, 0, -1)) end
  call('DEL', prepare)
elseif call('ZCARD', prepare) > 0 then
  -- Notes in `why` that the delivery of x failed, or did not count. The first failure starts a new record.
  local function note(x, left, priority, reason)
    local old = left ~= RETRIES and call('HGET', why, x) or ''
    local died = left > RETRIES and call('ZSCORE', dead, x)
    if left > RETRIES and not died and string.sub(old, 1, 2) ~= '0 ' then old = '' end   -- of a copy that is gone
    local first, kept = string.match(old, '^%d+ (%d+) %d+ (%S+)')
    if priority == '' then priority = kept or '-' end
    local record = {17 - left, first or int(now), int(now), priority, holder == '' and '-' or holder, reason}
    if died then                                  -- and this one of another copy, but for the priority
      local failures, rest = string.match(old, '^(%d+ %d+ %d+) %S+ (.*)$')
      if failures then record = {failures, priority, rest} end
    end
    call('HSET', why, x, table.concat(record, ' '))
  end
  local function remember()
    call('HSET', meta, 'why', 1)
    m[6] = '1'
  end

  -- Gives back what was not done: no attempt is spent. What its handler put back waits for `later` ms.
  local function give_back(x, mark, left, priority, later, reason)
    local waits, due = tonumber(call('ZSCORE', store, x) or 0), now + later
    if later > 0 and time[2] % 1000 > 0 then due = due + 1 end   -- never early
    if left == RETRIES and kind ~= 'P' then
      local was = tonumber(priority) or mark - left -- due then, if that is known; else the second it was taken
      if later == 0 and was > RETRIES and was < now then due = was end
      if waits > RETRIES and not (kind == 'R' and due < waits) then return end   -- sent again: the fresh copy wins
      call('ZADD', store, int(due), x)
    elseif waits > RETRIES then return              -- and here
    elseif left < RETRIES or priority == '' then call('ZADD', retry, int(due * 100 + left + 1), x)
    elseif later == 0 then call('ZADD', store, priority, x)
    else
      call('ZADD', retry, int(due * 100 + BACK), x)
      m[8] = math.max(due, math.min(LARGEST, tonumber(m[8]) or 0))
      call('HSET', meta, 'later', int(m[8]))
    end
    if later > 0 and left == RETRIES then
      note(x, RETRIES + 1, priority, reason)
      remember()
    end
  end

  local till, lease = tonumber(m[3]) or 0, math.min(LARGEST, tonumber(m[4]) or 0)
  if holder == me and not mine then               -- its answer got lost: tell it again
    local flying = call('ZCARD', prepare)
    local k = read(0, math.min(flying, 256), MOST / 4, 1, function(i, n) return call('ZRANGE', prepare, i, i + n - 1) end)
    local left = retries_in(call('ZSCORE', prepare, x[1]) % 1000)
    local explained = left < RETRIES and call('HGET', why, x[1]) or nil
    if flying > k then call('ZCARD', store) call('ZCARD', retry) end   -- (a wrong type)
    call('HDEL', meta, 'until')                   -- (a first write that takes away passes above maxmemory)
    while flying > k do
      local surplus = call('ZRANGE', prepare, k, k + 15, 'WITHSCORES')
      for i = 1, #surplus, 2 do give_back(surplus[i], tonumber(surplus[i + 1]), retries_in(surplus[i + 1] % 1000), '', 0) end
      flying = flying - call('ZREMRANGEBYRANK', prepare, k, k + 15)
      batch = tonumber(following)
    end
    call('HSET', meta, 'batch', int(batch), 'until', now + ARGV[5], 'lease', ARGV[5])
    local out = {'BATCH', int(batch), 17 - left, k, unpack(x)}
    out[k + 5] = explained
    return out
  end
  if not mine and holder ~= '' and holder ~= ARGV[4] and not (lease > 0 and till < now) then
    if lease > 0 and till > now + 2 * lease then  -- the server's clock stepped back
      till = now + lease
      call('HDEL', meta, 'until')
      call('HSET', meta, 'until', int(till))
    end
    return {'BUSY', holder, wait(till)}
  end

  local verdicts = {}
  for i = FIRST_VERDICT, #ARGV, 4 do
    local n, p = tonumber(ARGV[i + 1]), ARGV[i + 2]
    local sound = n and n >= -2 - 1e12 and n <= 1e12 and n % 1 == 0 and ARGV[i + 3] and (p == '' or tonumber(p) and tonumber(p) > RETRIES)
    if not sound then
      return redis.error_reply('RMQ bad verdict on argument ' .. i)
    end
    verdicts[ARGV[i]] = i
  end
  local over = not mine and (holder == '' and 'its holder is unknown' or holder == ARGV[4] and 'its worker died' or 'the lease of its worker ended')
  local done, batched, returned = {}, call('ZRANGE', prepare, 0, -1, 'WITHSCORES')
  -- What is read below is read once before the first write: so a wrong type shows, or a right that is missing.
  call('ZSCORE', store, batched[1]) call('ZCARD', retry) call('ZSCORE', dead, batched[1]) call('HGET', why, batched[1])
  call('DEL', prepare)
  for i = 1, #batched, 2 do
    local x, mark = batched[i], tonumber(batched[i + 1])
    local left, at = retries_in(mark % 1000), verdicts[x]
    local n, priority, reason = tonumber(ARGV[8]), '', over
    if at and not over then n, priority, reason = tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3] end
    if not over and not at then
      done[#done + 1] = x
    elseif n <= -2 then
      give_back(x, mark, left, priority, -2 - n, reason)
    elseif tonumber(call('ZSCORE', store, x) or 0) <= RETRIES then   -- else sent again: the fresh copy wins
      note(x, left, priority, reason)
      if n == -1 or left == 0 then
        returned = returned or tonumber(string.match(call('HMGET', meta, 'mourned')[1] or '', ' (.-)@') or '') or 0
        if returned >= now then                   -- the clock was set back: deaths.lua would leave this one out
          call('HDEL', meta, 'mourned')
        end
        call('ZADD', dead, int(now), x)
      else
        remember()
        if n > 0 then call('ZADD', retry, int((now + n) * 100 + left), x) else call('ZADD', store, left, x) end
      end
    end
  end
  if over then
    call('HSET', meta, 'holder', '', 'batch', following)
    return {'NUMBER', following}
  end
  forget(done)
elseif known ~= batch then
  return {'NUMBER', int(batch)}
end

-- 2. Leave, or take nothing.
if count == 0 then
  call('HDEL', meta, 'holder')
  call('HSET', meta, 'batch', following)
  return {'LEFT', following}
end
if m[5] then return {'PAUSED', int(batch)} end

-- 3. Choose the next batch: all fresh, or one retry alone with `left` retries after this one. Fresh ones stand
-- in the store at ranks from..to, and (priorities) the `above` highest.
local left, from, to, above = RETRIES, nil, nil, 0
local r = call('ZRANGE', retry, '0', '0', 'WITHSCORES')
local due = r[1] and math.floor(r[2] / 100)
local retries_first, late                          -- late: a retry is due, and fresh ones may pass it
local passed = math.min(256 + PASS, tonumber(m[7]) or 0)
local behind = wanted == 'N' and math.min(count, call('ZCOUNT', store, '(16', kind == 'P' and '+inf' or int(now))) or 0
local function alone(content, retries_left)
  x, told, left, from = {content}, {}, retries_in(retries_left - 1), nil
end

if behind > 0 then
  from = kind == 'P' and -behind or call('ZCOUNT', store, '-inf', '16') + behind - 1
  to, x = from, call('ZRANGE', store, int(from), int(from))
  if kind == 'P' then told[1] = call('ZSCORE', store, x[1]) end
elseif kind ~= 'P' then
  local few, till = math.min(8, count + 1), int(now)
  local first = call('ZRANGEBYSCORE', store, '-inf', till, 'LIMIT', '0', int(few))
  local oldest = tonumber(first[1] and call('ZSCORE', store, first[1]) or math.huge)
  retries_first = due and (wanted == 'F' or due <= oldest)
  if oldest <= RETRIES then
    alone(first[1], oldest)
  elseif take_all(first, few, 1) then
    from, to = 0, #x - 1
  elseif first[1] then
    from, to = 0, read(0, count, mean_of(first, 1), 1, function(i, n) return call('ZRANGEBYSCORE', store, '-inf', till, 'LIMIT', int(i), int(n)) end) - 1
  end
else
  -- What was put back takes its place in the store again, once its time has come. Retries may stand before it.
  if due and due <= now and (m[8] or r[2] % 100 == BACK) then
    local waiting = call('ZRANGEBYSCORE', retry, '-inf', int(now * 100 + 99), 'WITHSCORES', 'LIMIT', 0, 256)
    local back, moved, fresh = {}, {}, {}
    for i = 1, #waiting, 2 do
      if waiting[i + 1] % 100 == BACK then back[#back + 1] = waiting[i] end
    end
    if back[1] then
      local stored, records = call('ZMSCORE', store, unpack(back)), call('HMGET', why, unpack(back))
      for i = 1, #back do
        local again = tonumber(stored[i] or 0) > RETRIES   -- sent again: merges into the fresh copy
        local priority = math.min(LARGEST, tonumber(string.match(records[i] or '', '^%d+ %d+ %d+ (%d+) ') or 0))
        if again or priority > RETRIES then moved[#moved + 1] = back[i] end   -- else unknown: it goes alone
        if not again and priority > RETRIES then fresh[#fresh + 1], fresh[#fresh + 2] = int(priority), back[i] end
      end
    end
    if moved[1] then call('ZREM', retry, unpack(moved)) end
    if fresh[1] then call('ZADD', store, unpack(fresh)) end
    local more = #waiting == 512
    if more and #moved > 128 then return {'EMPTY', int(batch), 0, 0} end   -- others may go before these
    if m[8] and now >= (tonumber(m[8]) or 0) and not more then call('HDEL', meta, 'later') end
    r, due = call('ZRANGE', retry, 0, 0, 'WITHSCORES'), nil
    if r[1] then due = math.floor(r[2] / 100) end  -- not by `and`: the Lua of rmqtest would keep the old one
  end
  local few, random = math.min(4, count + 1), tonumber(ARGV[7])
  local top = call('ZREVRANGE', store, '0', int(few - 1), 'WITHSCORES')
  -- Failed ones of a literal topic stand below every priority. Those that somebody else wrote are found in time.
  local low = top
  if #top < 2 * few then low = {top[#top - 1], top[#top]}
  elseif m[6] or m[7] or random % 16 == 0 or tonumber(top[2]) <= RETRIES then low = call('ZRANGE', store, 0, 0, 'WITHSCORES') end
  local failed = tonumber(low[2] or math.huge) <= RETRIES
  late = failed or due and due <= now
  retries_first = tonumber(top[2] or 0) <= RETRIES or late and (wanted == 'F' or passed >= PASS)
  if failed and retries_first then
    alone(low[1], tonumber(low[2]))
  elseif not failed and take_all(top, few, 2) then
    from, to = -#x, -1
  elseif top[1] then
    -- Of the lowest level taken, `size` contents stand in the store and k of them are taken, from a random
    -- place: else the equal ones that sort last would starve. (Some near the ends of the level are drawn up
    -- to twice as often as the mean, none much less.)
    local level, size, k, full = top[2], call('ZCOUNT', store, top[2], top[2]), count, nil
    if size >= count then
      told[1] = level
    else
      k, full = read(0, count, mean_of(top, 2), 2, function(i, n) return call('ZREVRANGE', store, i, i + n - 1, 'WITHSCORES') end)
      while tonumber(told[k]) <= RETRIES do x[k], told[k], k = nil, nil, k - 1 end   -- a retry goes alone
      level, above = told[k], k
      while told[above] == level do above = above - 1 end
      size = (full or k == count) and call('ZCOUNT', store, level, level) or k - above
      k = k - above
    end
    local skip = math.max(0, math.min(size - k, random % (size + k - 1) - k + 1))
    if size > k or not x[1] then
      local n = k
      local function window(i, some) return call('ZREVRANGE', store, above + skip + i, above + skip + i + some - 1) end
      k, full = read(above, n, mean_of(top, 2), 1, window)
      if full then                                -- then from any of them on, or the last ones would starve
        local first = math.floor(random / (size + n - 1)) % n
        skip = skip + first
        k = read(above, n - first, MOST / 4, 1, window)
      end
      for i = above + n, above + k + 1, -1 do x[i], told[i] = nil, nil end
    end
    from, to = -above - skip - k, -above - skip - 1
  end
end
if retries_first and due and due <= now then
  if tonumber(call('ZSCORE', store, r[1]) or 0) > RETRIES then
    call('ZREM', retry, r[1])                     -- sent again: the old copy merges into the fresh one
  else
    alone(r[1], r[2] % 100)
  end
end
if not x[1] then
  local next_due = kind ~= 'P' and call('ZRANGE', store, 0, 0, 'WITHSCORES')[2]
  next_due = math.min(tonumber(next_due or math.huge), due or math.huge)
  return {'EMPTY', int(batch), next_due < math.huge and wait(next_due) or '', int(time[2] % 1000)}
end

if left < RETRIES then told[1] = call('HGET', why, x[1]) or nil
elseif tells_due then told = call('ZMSCORE', store, unpack(x)) end

-- 4. Move it to prepare. The first write takes away, so it passes above maxmemory.
if from then
  call('ZREMRANGEBYRANK', store, int(from), int(to))
  if above > 0 then call('ZREMRANGEBYRANK', store, -above, -1) end
else
  call('ZREM', store, x[1])
end
if due then call('ZREM', retry, unpack(x)) end    -- a waiting retry of a fresh content is superseded
local add, mark, n = {}, int(second * 1000 + left), #x
for i = 1, n do add[2 * i - 1], add[2 * i] = mark, x[i] end
call('ZADD', prepare, unpack(add))
if holder == me and m[4] == ARGV[5] then call('HSET', meta, 'batch', following, 'until', int(now + ARGV[5]))
else call('HSET', meta, 'holder', me, 'batch', following, 'until', int(now + ARGV[5]), 'lease', ARGV[5]) end
passed = late and passed + (from and n or -PASS) or 0
if behind > 0 then passed = nil elseif passed > 0 then call('HSET', meta, 'passed', passed) elseif m[7] then call('HDEL', meta, 'passed') end
local out = {'BATCH', following, 17 - left, n, unpack(x)}
for i = 1, #told do out[n + 4 + i] = told[i] end
return out
