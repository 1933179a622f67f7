-- policy: returns the limit that a person has set to the workers of a topic, while it holds.
--
-- GUARANTEE  reads only. A limit is over at its `until` by the clock of this server, also where its key is still there.
-- KEYS  1 policy
-- ARGV  none
-- ANSWERS  {} if no limit holds; else {rate or '', concurrency or '', for how many ms it still holds, `since until`}
local policy, call = KEYS[1], redis.call
local held = call('HMGET', policy, 'rate', 'concurrency', 'until', 'since')
local time = call('TIME')
local left = (tonumber(held[3] or '') or 0) - time[1] * 1000 - math.floor(time[2] / 1000)
if not (left > 0) then return {} end
return {held[1] or '', held[2] or '', string.format('%.0f', left), table.concat({held[4] or '', held[3]}, ' ')}
