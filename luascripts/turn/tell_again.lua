-- The answer got lost that gave this worker its batch: it is told it again, and its lease begins anew.
x = call('ZRANGE', prepare, 0, -1)
local left = retries_in(call('ZSCORE', prepare, x[1]) % 1000)
local explained = left < RETRIES and call('HGET', why, x[1]) or nil
call('HDEL', meta, 'until')                       -- a first write that takes away passes above maxmemory
call('HSET', meta, 'batch', int(batch), 'until', now + ARGV[5], 'lease', ARGV[5])
local out = {'BATCH', int(batch), 17 - left, #x, unpack(x)}
out[#x + 5] = explained
return out
