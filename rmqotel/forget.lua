-- Forgets from which spans a content was sent that was handled. A copy that was sent since it was
-- taken stays.
--
-- KEYS: 1 trace{T_N}: see remember.lua
-- ARGV: 1 fence of the batch that was handled
--       2 the content
-- Returns 1 if it was known.
local trace = KEYS[1]
local fence, content = tonumber(ARGV[1]), ARGV[2]

local known = redis.call('HMGET', trace, content)[1]
if not known then
  return 0
end
local newest, stamp = string.match(known, '^((%d+) %S+ %S+ %d+)')
if tonumber(stamp) < fence then
  redis.call('HDEL', trace, content)
else
  redis.call('HSET', trace, content, newest)
end
return 1
