-- restore: puts a definition back, unless there is another one.
--
-- KEYS  1 def        ARGV  fields and values of the definition
-- ANSWERS  1
local def, call = KEYS[1], redis.call
if ARGV[1] and call('EXISTS', def) == 0 then
  call('HDEL', def, 'kind')                       -- a first write that takes away passes above maxmemory
  call('HSET', def, unpack(ARGV))
end
return 1
