-- deaths: notes up to which ms the deaths of a slot were reported, and returns the next ones.
--
-- GUARANTEE  a death is left out only if it was reported, up to the ms that was noted. Deaths of one ms come in one
--   answer. Those of the present ms come later: another may still die in it. Where one dies at a ms of which others were
--   returned already, since the clock was set back, turn.lua takes `mourned` and `mourning` away: then all that are dead
--   are reported again, and nothing is noted of answers before that.
-- KEYS  1 dead   2 meta: mourned (up to which ms they were reported), mourning (up to which ms they were returned)
--   3 why
-- ARGV  1 ms up to which all deaths were reported; '': what is noted   2 how many, 0: only note   3 bytes of contents
--   after which no more come. Those of one ms all come, however many they are
-- ANSWERS  {in how many ms there will be more, '' if none is known; for each death: content, its ms, its entry of why
--   or ''}
local dead, meta, why, call = KEYS[1], KEYS[2], KEYS[3], redis.call
local most, room = tonumber(ARGV[2]), tonumber(ARGV[3])
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local m = call('HMGET', meta, 'mourned', 'mourning')
local reported, mourning = tonumber(m[1] or '') or 0, tonumber(m[2] or '')
if not mourning then
  if ARGV[1] ~= '' then return {'1'} end          -- of an answer before they were taken away: ask again
  reported = 0
elseif ARGV[1] ~= '' then
  reported = tonumber(ARGV[1])
end
local from, before = string.format('(%.17g', reported), string.format('(%.0f', now)
local deaths, n, last = {''}, 0, nil
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
if ARGV[1] ~= '' then
  call('HDEL', meta, 'mourned')                   -- (a first write that takes away passes above maxmemory)
  call('HSET', meta, 'mourned', ARGV[1])
end
if last and tonumber(last) > (mourning or 0) then
  call('HDEL', meta, 'mourning')                  -- (and this one)
  call('HSET', meta, 'mourning', last)
end
return deaths
