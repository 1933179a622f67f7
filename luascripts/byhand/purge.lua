-- purge: removes the first contents of a part of what waits in a slot, whichever they are.
--
-- GUARANTEE  what is in flight is not touched, and goes on. What was removed leaves no explanation, no note and no mark of a
--   unique send, but for those that a copy needs: one that still waits, is in flight (it needs no note), or, for the
--   explanation, is dead.
-- KEYS  1 store   2 prepare   3 retry   4 dead   5 why   6 seen   7 note: of a topic with notes
-- ARGV  1 'W' first deliveries in the store, 'F' failed ones there (literal topics), 'R' retries
--       2 how many at most   3 how many bytes of them at most, but for the first one   4 1: tell their contents, 0: do not
-- ANSWERS  {how many were removed, their contents}
local store, prepare, retry, dead, why, seen, note = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local call, most, room = redis.call, tonumber(ARGV[2]), tonumber(ARGV[3])
local failed = call('ZCOUNT', store, '-inf', 16)  -- a wrong type shows before the first write
call('ZCARD', prepare)
call('ZCARD', retry)
call('ZCARD', dead)
call('HLEN', why)
call('ZCARD', seen)
if note then call('HLEN', note) end
local from, other, first, names = store, retry, 0, {}
if ARGV[1] == 'W' then first = failed             -- failed ones have the lowest scores
elseif ARGV[1] == 'F' then most = math.min(most, failed)
else from, other = retry, store end
for n = 1, most do                                -- nobody knows how long a content is before it is read
  local x = call('ZRANGE', from, first + n - 1, first + n - 1)[1]
  room = room - (x and #x or 0)
  if not x or room < 0 and n > 1 then break end
  names[n] = x
end
for i = 1, #names, 200 do
  local some = {unpack(names, i, math.min(i + 199, #names))}
  local waits = call('ZMSCORE', other, unpack(some))
  local flies = call('ZMSCORE', prepare, unpack(some))
  local died = call('ZMSCORE', dead, unpack(some))
  call('ZREM', from, unpack(some))
  for n, x in ipairs(some) do
    if note and not waits[n] then call('HDEL', note, x) end
    if not (waits[n] or flies[n]) then call('ZREM', seen, x) end
    if not (waits[n] or flies[n] or died[n]) then call('HDEL', why, x) end
  end
end
return {#names, unpack(ARGV[4] == '1' and names or {})}
