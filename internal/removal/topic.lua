-- topic: deletes what is kept of a topic as a whole, unless somebody takes from it; or only looks.
--
-- GUARANTEE  all keys are deleted, or none.
-- KEYS  1 workers   2 takers   3.. the others
-- ARGV  1 1: delete, 0: look
-- ANSWERS  1: nobody takes from it; 0: a worker or taker counts
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 1, 2 do
  if call('ZCOUNT', KEYS[i], string.format('%.0f', now), '+inf') > 0 then return 0 end
end
if ARGV[1] == '1' then call('UNLINK', unpack(KEYS)) end
return 1
