-- begin: messages of a batch begin, and each has the id of its wait.
--
-- GUARANTEE  a batch that was taken over since changes nothing. To ask again after a lost answer does no harm.
-- KEYS  pushed, of each content
-- ARGV  1 fence   2 for how many ms to keep the ids   then of each: its attempt, and the id if a new one begins
-- ANSWERS  the ids; '' where a later batch has begun with the content
local call, fence, ids = redis.call, tonumber(ARGV[1]), {}
for i, pushed in ipairs(KEYS) do
  local attempt, id = tonumber(ARGV[2 * i + 1]), ARGV[2 * i + 2]
  local was = call('HMGET', pushed, 'id', 'fence', 'back')
  local last = tonumber(was[2] or 0)
  if last > fence then
    id = ''
  else
    if was[1] and (attempt > 1 or was[3] or last == fence) then id = was[1] end
    call('DEL', pushed)
    call('HSET', pushed, 'id', id, 'fence', ARGV[1])
    call('PEXPIRE', pushed, ARGV[2])
  end
  ids[i] = id
end
return ids
