-- begin: a try of a message begins, and has the id of its wait.
--
-- GUARANTEE  a try whose batch was taken over since changes nothing. To ask again after a lost answer does no harm.
-- KEYS  1 pushed, of the content
-- ARGV  1 attempt   2 fence   3 the id if a new one begins   4 for how many ms to keep it
-- ANSWERS  the id; '' if a later batch has begun with the content
local pushed, call = KEYS[1], redis.call
local attempt, fence, id = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local was = call('HMGET', pushed, 'id', 'fence', 'back')
if was[1] then
  local last = tonumber(was[2])
  if last > fence then return '' end
  if attempt > 1 or was[3] or last == fence then id = was[1] end
end
call('DEL', pushed)
call('HSET', pushed, 'id', id, 'fence', ARGV[2])
call('PEXPIRE', pushed, ARGV[4])
return id
