-- Forgets from which spans contents were sent that were handled. A copy that was sent since it was
-- taken stays.
--
-- KEYS: 1 trace{T_N}: see remember.lua
-- ARGV: 1 fence of the batch that was handled
--       2 … contents
-- Returns how many of them were known.
local trace, fence = KEYS[1], tonumber(ARGV[1])

local known = 0
for i = 2, #ARGV do
  local content = ARGV[i]
  local copies = redis.call('HMGET', trace, content)[1]
  if copies then
    local newest, stamp = string.match(copies, '^((%d+) %S+ %S+ %d+)')
    if tonumber(stamp) < fence then
      redis.call('HDEL', trace, content)
    else
      redis.call('HSET', trace, content, newest)
    end
    known = known + 1
  end
end
return known
