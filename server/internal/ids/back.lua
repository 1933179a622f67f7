-- back: the target has surely not handled a first try. The next one may have its id, also if it is a first one again.
--
-- KEYS  1 pushed, of the content     ARGV  1 fence of the try
-- ANSWERS  1
local pushed, call = KEYS[1], redis.call
if call('HGET', pushed, 'fence') == ARGV[1] then call('HSET', pushed, 'back', 1) end
return 1
