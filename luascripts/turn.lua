-- turn: one turn of one worker at one slot. It finishes the batch the worker holds, then takes the next one, atomically.
-- A line `--> file` stands for the lines of that file: one step, that can be read alone with the names below and those it says it needs.
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
--   begun anew. NUMBER or BUSY in answer to verdicts means: your batch was taken over.
-- WHILE A RETRY IS DUE   in a priority slot with fresh ones, one delivery in eight is a retry: 7 fresh ones may pass it, or a batch
--   of them, which is then made up for. In the other kinds the older one comes first. A worker may want a retry first.
-- A FRESH COPY   a content sent again while an older copy of it is in flight or waits for its retry wins:
--   the old copy is dropped when it comes back, even to die, when it comes due, or when the fresh one is
--   taken; and the fresh one has the full 17 deliveries. A content that is dead may wait as well. If the old
--   copy was a first delivery of a range merge, and was not started, its time stays: it was the first one.
-- PUT BACK   by its handler, a content waits for so many ms, and spends no attempt: a first delivery of a time kind
--   in the store, a retry in `retry`, and a first delivery with a priority there, too, its priority in `why`. When
--   its time has come it stands in the store again, before anything is chosen. It may be put back for ever.
-- DEAD   when its 17th delivery failed or was taken over (no retries left), or its worker said so. finish.lua decides it.
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

local x, told = {}, {}                            -- what is told: the contents x, and of each or of all of them `told`
--> turn/unexplain.lua
--> turn/read.lua

-- 1. Finish what is mine, or be refused.
local mine = holder == me and known == batch and ARGV[9] ~= '1'
if mine and #ARGV < FIRST_VERDICT then            -- all of it is done
  if m[6] then unexplain(call('ZRANGE', prepare, 0, -1)) end
  call('DEL', prepare)
elseif call('ZCARD', prepare) > 0 then
  if holder == me and not mine then
    --> turn/tell_again.lua
  end
  --> turn/busy.lua
  local over = not mine and (holder == '' and 'its holder is unknown' or holder == ARGV[4] and 'its worker died' or 'the lease of its worker ended')
  --> turn/explain.lua
  --> turn/give_back.lua
  --> turn/finish.lua
  if over then
    call('HSET', meta, 'holder', '', 'batch', following)
    return {'NUMBER', following}
  end
  unexplain(done)
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
  --> turn/one_behind_others.lua
elseif kind ~= 'P' then
  --> turn/choose_by_time.lua
else
  --> turn/put_into_place.lua
  --> turn/choose_by_priority.lua
end
--> turn/retry_first.lua
if not x[1] then
  --> turn/empty.lua
end

if left < RETRIES then told[1] = call('HGET', why, x[1]) or nil
elseif tells_due then told = call('ZMSCORE', store, unpack(x)) end

-- 4. Take it.
--> turn/move.lua
