-- cancel: removes a content that waits, be it for its time, its turn or its retry, and asks for the end of one in flight.
--
-- GUARANTEE  a copy in flight is not touched: meta notes that its worker is asked to end it, with the number of the batch
--   and the hash of the content. With any other number the note is stale, and overwritten by the next one.
--   What was removed leaves no note: one of the same content that is in flight must not be told it with its retry.
--   The content may be sent as a unique one again, whether it was there or not.
-- KEYS  1 store   2 prepare   3 retry   4 dead   5 why   6 meta   7 seen   8 note: of a topic with notes
-- ARGV  1 content
-- ANSWERS  {removed, in flight}, each 1 or 0
local store, prepare, retry, dead, why, meta = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local seen, note, x, call = KEYS[7], KEYS[8], ARGV[1], redis.call
local flying = call('ZSCORE', prepare, x) and 1 or 0
call('ZCARD', retry)                              -- a wrong type shows before the first write
call('ZSCORE', seen, x)
if note then call('HGET', note, x) end
local m = call('HMGET', meta, 'batch', 'cancel')
local explained = call('HGET', why, x) and flying == 0 and not call('ZSCORE', dead, x)
local removed = call('ZREM', store, x) + call('ZREM', retry, x)
call('ZREM', seen, x)
if explained then call('HDEL', why, x) end
if note and removed > 0 then call('HDEL', note, x) end
if flying == 1 and m[1] then
  local hash, asked = redis.sha1hex(x), m[2] or ''
  if asked:match('^%d+') ~= m[1] then asked = m[1] end
  if not asked:find(hash, 1, true) then call('HSET', meta, 'cancel', string.format('%s %s', asked, hash)) end
end
return {math.min(removed, 1), flying}
