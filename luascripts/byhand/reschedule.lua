-- reschedule: gives a content that waits another time or another priority.
--
-- GUARANTEE  nothing is stored that did not wait, and a copy in flight is not touched. A retry keeps its attempts, and
--   one that was put back is looked for until its new time, whatever stands before it.
-- KEYS  1 store   2 prepare   3 retry   4 meta
-- ARGV  1 content   2 'AT' ms, 'IN' so many ms from now, or 'PRIORITY'   3 the number
--       4 1: a copy in the store stays as it is, since its score is no time, 0: it is moved
-- ANSWERS  {where it waited: STORE, RETRY, FAILED (in the store of a literal topic, to be tried again at once:
--   unchanged), FLYING or NOWHERE, its score before, its score now, or '' if it has none}. A retry waits for a
--   time and no priority: then its score stays.
local store, prepare, retry, meta, call = KEYS[1], KEYS[2], KEYS[3], KEYS[4], redis.call
local x, number = ARGV[1], tonumber(ARGV[3])
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function int(n) return string.format('%.0f', n) end   -- tostring() keeps 14 digits only
if ARGV[2] == 'IN' then number = now + number end
local waits = call('ZSCORE', store, x)
local flying = call('ZSCORE', prepare, x)
local again = call('ZSCORE', retry, x)
local later = tonumber(call('HMGET', meta, 'later')[1] or '') or 0
local least, most = 17, 2 ^ 53 - 1                -- 1 to 16 would mean retries left; above it scores are not exact
if ARGV[2] ~= 'PRIORITY' then
  least, most = 1e11, again and not waits and 9e13 or 253402300800000   -- from 1973 to the year 4821, or 9999
end
if number < least or number > most then return redis.error_reply('RMQ bad time or priority') end
if waits and tonumber(waits) > 16 and ARGV[4] == '1' then
  return {'STORE', waits, waits}
elseif waits and tonumber(waits) > 16 then
  call('ZREM', store, x)                          -- a first write that takes away passes above maxmemory
  call('ZADD', store, int(number), x)
  return {'STORE', waits, int(number)}
elseif waits then
  return {'FAILED', waits, waits}
elseif again and ARGV[2] == 'PRIORITY' then
  return {'RETRY', again, again}
elseif again then
  local left = math.floor(again % 100)
  if left ~= 18 then left = math.max(1, math.min(17, left)) end   -- also of a score that nothing of RMQ wrote
  local score = int(number * 100 + left)
  call('ZREM', retry, x)
  call('ZADD', retry, score, x)
  if left == 18 and number > later then call('HSET', meta, 'later', int(number)) end
  return {'RETRY', again, score}
elseif flying then
  return {'FLYING', '', ''}
end
return {'NOWHERE', '', ''}
