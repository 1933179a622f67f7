-- dead: takes contents out of the dead ones, to be delivered again or to be gone.
--
-- GUARANTEE  a content that has died again since it was looked at is left alone, and so is one of a priority
--   topic that is to be delivered again while nobody knows its priority. A live copy, be it waiting, in flight
--   or before a retry, keeps its place, its attempts and its explanation, and the dead one merges into it: from
--   then on it has no time to live. Any other is stored like a new one, with all 17 deliveries: due now, or
--   with the priority it was sent with; and without a note, or its time to live might be over.
-- KEYS  1 store   2 prepare   3 retry   4 dead   5 meta   6 why   7 note: of a topic with notes
-- ARGV  1 'P' or 'T': deliver again, in a priority topic or one of the time kinds; 'D' delete
--       2 priority to give all of them, or '': each its own   3.. in pairs: content, the whole ms of its death as seen, within 2^53
-- ANSWERS  one word each: STORED, MERGED, DELETED, GONE (not dead, or of another death), UNKNOWN (priority)
local store, prepare, retry, dead, meta, why, note = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local call = redis.call
local time = call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
call('HLEN', meta)                                -- a wrong type shows before the first write
call('HLEN', why)
if note then call('HLEN', note) end
local words = {}
for i = 3, #ARGV, 2 do
  local x = ARGV[i]
  local died = call('ZSCORE', dead, x)
  local waits = call('ZSCORE', store, x)
  local flying = call('ZSCORE', prepare, x)
  local again = call('ZSCORE', retry, x)
  local score = now
  if ARGV[1] == 'P' then
    score = ARGV[2] ~= '' and ARGV[2] or string.match(call('HGET', why, x) or '', '^%d+ %d+ %d+ (%d+)')
  end
  local word = 'STORED'
  if not died or math.max(1 - 2 ^ 53, math.min(2 ^ 53 - 1, math.floor(died))) ~= tonumber(ARGV[i + 1]) then
    word = 'GONE'
  elseif ARGV[1] == 'D' then
    word = 'DELETED'
  elseif waits or flying or again then
    word = 'MERGED'
  elseif not score or tonumber(score) <= 16 then  -- 1 to 16 would mean retries left
    word = 'UNKNOWN'
  end
  if word ~= 'GONE' and word ~= 'UNKNOWN' then
    call('ZREM', dead, x)
    -- A copy that has failed and lives still needs the entry of why, which was not about this death then, and
    -- is not a dead one's any more. Any other must go, or a first delivery would be told of failures.
    local explains = waits and tonumber(waits) <= 16 or flying and flying % 1000 < 16 or again and again % 100 <= 16
    local record = call('HGET', why, x)
    if record and again and again % 100 == 18 then   -- put back by its handler: only the priority is of that copy
      call('HSET', why, x, (string.gsub(record, '^%d+ (%d+ %d+ %S+) .*$', '0 %1 - put back by its handler')))
      call('HSET', meta, 'why', 1)
    elseif not explains then call('HDEL', why, x)
    elseif record then call('HSET', meta, 'why', 1) end
    local noted = word == 'MERGED' and note and call('HGET', note, x)
    if noted then                                 -- wanted as long as one of both is: the requeued one has no end
      call('HSET', note, x, (string.gsub(noted, '^(%d+ %d+ %d+ %d+) %d+', '%1 0')))
    elseif word == 'STORED' then
      if note then call('HDEL', note, x) end
      call('ZADD', store, score, x)
    end
  end
  words[#words + 1] = word
end
return words
