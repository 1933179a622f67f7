-- slot: deletes all keys of a slot, if nothing is there; or only looks whether that is so, or whether anything is in flight.
--
-- GUARANTEE  all of them are deleted, or none. What is in flight goes only if its holder had a lease that is over: never
--   while one holds, nor what ZooKeeper judges, since only a turn knows whether that worker lives.
-- KEYS  1 store   2 retry   3 dead   4 plan   5 prepare   6 meta   7.. the others
-- ARGV  1 1: delete, 0: look, 2: look at what is in flight   2 1: what is in flight may go, since its worker is dead
-- ANSWERS  1: nothing is there; 0: something is; 2: it is in flight, and ZooKeeper judges it; more: until when a lease holds, ms
local prepare, meta, call = KEYS[5], KEYS[6], redis.call
for i = 1, ARGV[1] == '2' and 0 or 4 do
  if call('EXISTS', KEYS[i]) == 1 then return 0 end
end
if call('EXISTS', prepare) == 1 then
  local held, time = call('HMGET', meta, 'lease', 'until'), call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local lease, till = tonumber(held[1] or -1), tonumber(held[2] or 0)
  if ARGV[2] ~= '1' then return 0 end
  if lease == 0 then return 2 end
  if lease > 0 and till >= now and till <= now + 2 * lease then return till end  -- further ahead: the clock stepped back
end
if ARGV[1] == '1' then call('UNLINK', unpack(KEYS)) end
return 1
