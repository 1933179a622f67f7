-- deaths: notes which deaths of a slot were reported, and returns the next ones.
--
-- GUARANTEE  a death is left out only if it was reported, up to the ms that was noted. Deaths of one ms come in one
--   answer. Those of the present ms come later: another may still die in it. Where one dies at a ms of which others were
--   returned already, since the clock was set back, turn.lua takes `mourned` away: then all that are dead are reported
--   again. And each answer that goes further than those before it has a mark: the ms up to which it goes, @, and when.
--   Only what is noted with the mark of the last one counts: so not what was returned before `mourned` was taken away,
--   or before Redis forgot its last writes.
-- KEYS  1 dead   2 meta: mourned ('ms mark': the ms up to which deaths were reported, and the last mark)   3 why
-- ARGV  1 'ms mark': all deaths up to that ms were reported, and came with that mark; '': nothing to note   2 how many,
--   0: only note   3 bytes of contents after which no more come. Those of one ms all come, however many they are
-- ANSWERS  {in how many ms there will be more, '' if none is known; the mark; for each death: content, its ms, its entry
--   of why or ''}. With a mark that does not count: {'1', ''}, ask again and note nothing
local dead, meta, why, call = KEYS[1], KEYS[2], KEYS[3], redis.call
local most, room, noting = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[1] ~= ''
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- What has no mark does not count.
local reported, mark = string.match(call('HMGET', meta, 'mourned')[1] or '', '^(%S+) (%S+)$')
if noting then
  local ms, of = string.match(ARGV[1], '^(%S+) (%S+)$')
  if not mark or of ~= mark then return {'1', ''} end
  reported = ms
end
local from, before = string.format('(%.17g', tonumber(reported or '') or 0), string.format('(%.0f', now)
local deaths, n, last = {'', ''}, 0, nil
while n < most and room > 0 do
  local at = call('ZRANGEBYSCORE', dead, from, before, 'WITHSCORES', 'LIMIT', 0, 1)[2]
  if not at then break end
  for _, x in ipairs(call('ZRANGEBYSCORE', dead, at, at)) do
    deaths[#deaths + 1], deaths[#deaths + 2], deaths[#deaths + 3] = x, at, call('HGET', why, x) or ''
    n, room = n + 1, room - #x
  end
  last, from = at, string.format('(%s', at)
end
if n == 0 then
  local at = call('ZRANGEBYSCORE', dead, string.format('%.0f', now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  if at then deaths[1] = string.format('%.0f', at - now + 1) end
end
local returned = tonumber(string.match(mark or '', '^(.-)@') or '') or 0
local further = last and tonumber(last) > returned
if further then mark = table.concat({last, '@', time[1], '.', time[2]}) end
if further or noting then
  call('HDEL', meta, 'mourned')                   -- (a first write that takes away passes above maxmemory)
  call('HSET', meta, 'mourned', table.concat({reported or '0', mark}, ' '))
end
deaths[2] = mark or ''
return deaths
