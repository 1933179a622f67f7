-- cancel: removes a content that waits, be it for its time, its turn or its retry.
--
-- GUARANTEE  a copy in flight is not touched: it will be done, retried or dead as if nothing happened.
-- KEYS  1 store   2 prepare   3 retry   4 dead   5 why       ARGV  1 content
-- ANSWERS  {removed, in flight}, each 1 or 0
local store, prepare, retry, dead, why, call = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], redis.call
local x = ARGV[1]
local flying = call('ZSCORE', prepare, x) and 1 or 0
call('ZCARD', retry)                              -- a wrong type shows before the first write
local explained = call('HGET', why, x) and flying == 0 and not call('ZSCORE', dead, x)
local removed = call('ZREM', store, x) + call('ZREM', retry, x)
if explained then call('HDEL', why, x) end
return {math.min(removed, 1), flying}
