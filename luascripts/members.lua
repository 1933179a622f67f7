-- members: a worker shows itself in a topic's list of members, or leaves it, and is told the list.
--
-- GUARANTEE  none that anything depends on: the list only shares the work out. Who may take is decided
--   by turn.lua.
-- KEYS  1 workers: worker -> until when it counts, ms: each by its own time
-- ARGV  1 me   2 how long I count from now on, ms   3 1: I am here, 0: I leave
-- ANSWERS  {1 if anybody came or went, 0 if not, the members in any order...}
local workers, call = KEYS[1], redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- The first writes take away, so they pass above maxmemory, and so does what follows them.
local changed = call('ZREMRANGEBYSCORE', workers, '-inf', string.format('(%.0f', now))
-- Who counts for much longer than anybody asks for was seen before the server's clock stepped back.
local far = string.format('%.0f', now + math.max(600000, 2 * ARGV[2]))
for _, worker in ipairs(call('ZRANGEBYSCORE', workers, string.format('(%s', far), '+inf')) do call('ZADD', workers, far, worker) end
local known = call('ZREM', workers, ARGV[1])
if ARGV[3] == '1' then call('ZADD', workers, string.format('%.0f', now + ARGV[2]), ARGV[1]) end
if tostring(known) ~= ARGV[3] then changed = changed + 1 end
return {math.min(changed, 1), unpack(call('ZRANGE', workers, 0, -1))}
