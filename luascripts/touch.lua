-- touch: a worker whose batch takes long begins its lease anew.
--
-- GUARANTEE  changes nothing unless the worker still holds that very batch.
-- KEYS  1 meta       ARGV  1 me   2 number of my batch
-- ANSWERS  1: still mine, its lease begins now; 0: not mine any more, stop working on it
local meta, call = KEYS[1], redis.call
local m = call('HMGET', meta, 'holder', 'batch', 'lease')
if m[1] ~= ARGV[1] or m[2] ~= ARGV[2] then return 0 end
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
call('HDEL', meta, 'until')                       -- (a first write that takes away passes above maxmemory)
call('HSET', meta, 'until', string.format('%.0f', now + tonumber(m[3] or 0)))
return 1
