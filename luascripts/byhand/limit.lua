-- limit: limits the workers of a topic for some time, or ends that.
--
-- GUARANTEE  the new limit replaces the one before as a whole, and is over at its `until`. Its key goes then, too.
-- KEYS  1 policy
-- ARGV  1 messages a second in the whole cluster, or ''   2 handlers in each worker, or ''   3 for how many ms; 0: end it
-- ANSWERS  {1 if a limit held before this, else 0}
local policy, ms, call = KEYS[1], tonumber(ARGV[3]), redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local before = tonumber(call('HMGET', policy, 'until')[1] or '') or 0
call('HDEL', policy, 'rate', 'concurrency', 'until', 'since') -- a first write that takes away passes above maxmemory
if ms > 0 then
  call('HSET', policy, 'rate', ARGV[1], 'concurrency', ARGV[2], 'since', string.format('%.0f', now),
    'until', string.format('%.0f', now + ms))
  call('PEXPIRE', policy, ms)
end
return {before > now and 1 or 0}
