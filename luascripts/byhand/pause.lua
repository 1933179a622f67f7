-- pause: stops a slot, or lets it go on. A turn looks at this in the step in which it takes, so no worker
-- takes anything from a slot once it is paused. What is in flight is finished.
--
-- GUARANTEE  changes nothing else. Pausing a slot twice keeps the first time.
-- KEYS  1 meta       ARGV  1 1: pause, 0: go on
-- ANSWERS  {1 if it was changed or 0, since when it was paused before this, in ms, or '' if it was not}
local meta, call = KEYS[1], redis.call
local since = call('HGET', meta, 'paused')
if since == '' then since = '0' end               -- any text pauses
if (since and '1' or '0') == ARGV[1] then return {0, since or ''} end
call('HDEL', meta, 'paused')                      -- a first write that takes away passes above maxmemory
if ARGV[1] == '1' then
  local time = call('TIME')
  call('HSET', meta, 'paused', string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)))
end
return {1, since or ''}
