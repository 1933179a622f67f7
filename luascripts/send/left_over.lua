-- What is left of waits that are over, and of times, goes at last: a full server refuses only the first write.
local gone = {}
if first then
  -- At any place, since what waits far ahead stays: at four, and if one of them is over at twice as many as may
  -- have been added. So what is left over becomes no more than about what waits.
  local entries, piece = call('ZCARD', first), 4 + 2 * #contents
  local at = math.max(0, math.min(math.floor(now * 1000) % (entries + piece) - piece, entries - piece))
  for _, many in ipairs({4, piece - 4}) do
    local some = call('ZRANGE', first, at, at + many - 1)
    local taken = some[1] and flying > 0 and call('ZMSCORE', prepare, unpack(some)) or {}   -- what may be put back
    for i, score in ipairs(some[1] and call('ZMSCORE', store, unpack(some)) or some) do
      if tonumber(score or 0) <= 16 and not taken[i] then gone[#gone + 1] = some[i] end
    end
    at = at + many
    if not gone[1] then break end
  end
  if gone[1] then call('ZREM', first, unpack(gone)) end
end
gone = {}
for _, x in ipairs(ended or gone) do
  if tonumber(places[x] and untils[places[x]] or 0) <= now then gone[#gone + 1] = x end
end
if gone[1] then call('ZREM', seen, unpack(gone)) end
