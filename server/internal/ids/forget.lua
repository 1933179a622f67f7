-- forget: messages of a batch have ended, and their ids with them.
--
-- KEYS  pushed, of each content     ARGV  1 fence
-- ANSWERS  1
local call = redis.call
for _, pushed in ipairs(KEYS) do
  local fence = call('HGET', pushed, 'fence')
  if fence and tonumber(fence) <= tonumber(ARGV[1]) then call('DEL', pushed) end
end
return 1
