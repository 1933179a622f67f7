-- slot: deletes all keys of a slot, if nothing is there; or only looks whether that is so.
--
-- GUARANTEE  all of them are deleted, or none. What a worker has in flight by a lease that holds is never deleted.
-- KEYS  1 store   2 retry   3 dead   4 plan   5 prepare   6 meta   7.. the others
-- ARGV  1 1: delete, 0: look   2 1: what is in flight may go, since its worker is dead
-- ANSWERS  1: nothing is there; 0: something is; more: until when a lease holds, ms
local prepare, meta, call = KEYS[5], KEYS[6], redis.call
for i = 1, 4 do
  if call('EXISTS', KEYS[i]) == 1 then return 0 end
end
if call('EXISTS', prepare) == 1 then
  local held, time = call('HMGET', meta, 'lease', 'until'), call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local till = tonumber(held[1] or 0) > 0 and tonumber(held[2] or 0) or 0
  if ARGV[2] ~= '1' then return 0 end
  if till >= now then return till end
end
if ARGV[1] == '1' then call('UNLINK', unpack(KEYS)) end
return 1
