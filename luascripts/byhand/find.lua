-- find: where a content is, and what stands in front of it, as of one moment.
--
-- GUARANTEE  reads only.
-- KEYS  1 store   2 prepare   3 retry   4 dead   5 meta   6 why   7 note: of a topic with notes
-- ARGV  1 'P' priority, or 'T' time   2 content
-- ANSWERS  {now in ms, its score in store, prepare, retry and dead, its entry of why, how many go before it in
--   the store, how many others there have the same priority, how many are in prepare and what one of them is
--   marked with, holder, number, end of its lease in ms, the lease in ms, paused, its note}: each '' if not known. Of
--   equal priorities any may go first, so only larger ones are counted as before it.
local store, prepare, retry, dead, meta, why, note = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local x, call = ARGV[2], redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function int(n) return string.format('%.0f', n) end   -- tostring() keeps 14 digits only
local waits, before, beside = call('ZSCORE', store, x), '', ''
if waits and ARGV[1] == 'P' then
  before = int(call('ZCARD', store) - call('ZCOUNT', store, '-inf', waits))
  beside = int(call('ZCOUNT', store, waits, waits) - 1)
elseif waits then
  before = int(call('ZRANK', store, x))
end
local m = call('HMGET', meta, 'holder', 'batch', 'until', 'lease', 'paused')
if m[5] == '' then m[5] = '0' end                 -- any text pauses
for i = 1, 5 do m[i] = m[i] or '' end
m[6] = note and call('HGET', note, x) or ''
return {int(now), waits or '', call('ZSCORE', prepare, x) or '', call('ZSCORE', retry, x) or '', call('ZSCORE', dead, x) or '',
  call('HGET', why, x) or '', before, beside, int(call('ZCARD', prepare)), call('ZRANGE', prepare, 0, 0, 'WITHSCORES')[2] or '', unpack(m)}
