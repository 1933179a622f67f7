-- slot: what one slot holds, in numbers, as of one moment.
--
-- GUARANTEE  reads only.
-- KEYS  1 store   2 prepare   3 retry   4 dead   5 meta       ARGV  1 'P' priority, or 'T' time
-- ANSWERS  {now in ms, how many are in the store, of these failed ones (literal topics), of these due,
--   score of the next first delivery or '', how many in prepare, their mark or '', how many in retry, of these due,
--   score of the next one or '', how many dead, ms of the first death or '', of the last one or '',
--   holder, number, end of its lease in ms, the lease in ms, paused: each '' if not known}
local store, prepare, retry, dead, meta, call = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function int(x) return string.format('%.0f', x) end   -- tostring() keeps 14 digits only
local function score(key, rank) return call('ZRANGE', key, rank, rank, 'WITHSCORES')[2] or '' end
local size, failed = call('ZCARD', store), call('ZCOUNT', store, '-inf', 16)
local due = size
if ARGV[1] ~= 'P' then due = call('ZCOUNT', store, '-inf', int(now)) end
local next_one = failed < size and score(store, ARGV[1] == 'P' and -1 or failed) or ''   -- failed ones have the lowest scores
local m = call('HMGET', meta, 'holder', 'batch', 'until', 'lease', 'paused')
if m[5] == '' then m[5] = '0' end                 -- any text pauses
for i = 1, 5 do m[i] = m[i] or '' end
return {int(now), int(size), int(failed), int(due), next_one, int(call('ZCARD', prepare)), score(prepare, 0),
  int(call('ZCARD', retry)), int(call('ZCOUNT', retry, '-inf', int(now * 100 + 99))), score(retry, 0),
  int(call('ZCARD', dead)), score(dead, 0), score(dead, -1), unpack(m)}
