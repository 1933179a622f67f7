-- forget: messages have ended, and their ids with them.
--
-- KEYS  pushed, of each content, all of one slot     ARGV  the fence of the batch of each
-- ANSWERS  1
local call = redis.call
for i = 1, #KEYS do
  local fence = call('HGET', KEYS[i], 'fence')
  if fence and tonumber(fence) <= tonumber(ARGV[i]) then call('DEL', KEYS[i]) end
end
return 1
