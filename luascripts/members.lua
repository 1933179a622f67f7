-- members: a worker shows itself in a topic's list of members, or leaves it, and is told the list.
--
-- GUARANTEE  none that anything depends on: the list only shares the work out. Who may take is decided
--   by turn.lua. Who was not seen for too long is noted among those that are gone: the last 100, for people.
-- KEYS  1 workers: worker -> until when it counts, ms: each by its own time   2 gone: worker -> until when it counted
-- ARGV  1 me   2 how long I count from now on, ms   3 1: I am here, 0: I leave
-- ANSWERS  {1 if anybody came or went, 0 if not, the members in any order...}
local workers, gone, call = KEYS[1], KEYS[2], redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- Who counts for much longer than anybody asks for was seen before the server's clock stepped back.
local far = now + math.max(600000, 2 * ARGV[2])
local held, list, known, changed = call('ZRANGE', workers, 0, -1, 'WITHSCORES'), {}, '0', 0
call('ZCARD', gone)                               -- a wrong type shows before the first write
call('ZREM', workers, ARGV[1])                    -- a first write that takes away passes above maxmemory
for i = 1, #held, 2 do
  local worker, till = held[i], tonumber(held[i + 1])
  if till < now then                              -- not seen for too long
    call('ZREM', workers, worker)
    changed = 1
    call('ZADD', gone, string.format('%.0f', till), worker)
    call('ZREMRANGEBYRANK', gone, 0, -101)
    call('PEXPIRE', gone, 86400000)
  elseif worker == ARGV[1] then
    known = '1'
  else
    if till > far then call('ZADD', workers, string.format('%.0f', far), worker) end
    list[#list + 1] = worker
  end
end
if ARGV[3] == '1' then
  call('ZADD', workers, string.format('%.0f', now + ARGV[2]), ARGV[1])
  list[#list + 1] = ARGV[1]
end
if known ~= ARGV[3] then changed = 1 end
if known == '0' then call('ZREM', gone, ARGV[1]) end   -- it is back, or says goodbye after all
return {changed, unpack(list)}
