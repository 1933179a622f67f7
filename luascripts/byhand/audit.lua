-- audit: a part of one slot, or some contents, with all that the rules of a slot speak of, as of one moment.
--
-- GUARANTEE  reads only. Each answer is a picture of one moment: all of prepare and meta, and for each content
--   of the part, or given, where else it is.
-- KEYS  1 store   2 prepare   3 retry   4 dead   5 meta   6 why
-- ARGV  1 which key the part is of: 1, 3 or 4, counted by rank, or 6, scanned; 0: the contents are given
--       2 first rank, or cursor, 0 at first
--       3 how many. The scan of a small hash brings all of it (hash-max-listpack-entries, 512 unless it was changed)
--       4 how many bytes of contents; of a part that is counted by rank two come however long they are
--       5.. with 0: the contents, 500 at most; nothing is told of what is in flight besides
-- ANSWERS  {the types of the six keys}, and if one is wrong, no more; {now in ms, how many are in store,
--   prepare, retry, dead and why, holder, number, end of its lease in ms, the lease in ms, paused, why of meta,
--   each '' if there is none}; {contents of prepare, each before its mark; 300 at most, and if they are too long, ''
--   with the last mark for those that are left out; with the first page of a part only}; next rank or cursor, '0' if
--   that was the last page; {in sixes:
--   content, its score in store, prepare, retry and dead, its entry of why, each '' if there is none}
local wants, types, call = {'zset', 'zset', 'zset', 'zset', 'hash', 'hash'}, {}, redis.call
local sound = true
for i = 1, 6 do
  types[i] = call('TYPE', KEYS[i]).ok
  if types[i] ~= 'none' and types[i] ~= wants[i] then sound = false end
end
if not sound then return {types} end
local store, prepare, retry, dead, meta, why = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function int(n) return string.format('%.0f', n) end   -- tostring() keeps 14 digits only
local function told(score) return type(score) == 'number' and string.format('%.17g', score) or score or '' end -- some servers hand over a number
local m = call('HMGET', meta, 'holder', 'batch', 'until', 'lease', 'paused', 'why')
if m[5] == '' then m[5] = '0' end                 -- any text pauses
for i = 1, 6 do m[i] = m[i] or '' end
local head = {int(now), int(call('ZCARD', store)), int(call('ZCARD', prepare)), int(call('ZCARD', retry)), int(call('ZCARD', dead)),
  int(call('HLEN', why)), unpack(m)}
local part, cursor, contents = tonumber(ARGV[1]), '0', {}
if part == 0 then
  for i = 5, #ARGV do contents[i - 4] = ARGV[i] end
elseif part == 6 then
  local scan = call('HSCAN', why, ARGV[2], 'COUNT', ARGV[3])
  cursor = scan[1]
  for i = 1, #scan[2], 2 do contents[#contents + 1] = scan[2][i] end
else
  local from, most, room = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
  for n = 0, most do
    local x = call('ZRANGE', KEYS[part], from + n, from + n)[1]
    if not x then break end
    room = room - #x
    if n == most or room < 0 and n >= 2 then
      cursor = int(from + n)
      break
    end
    contents[n + 1] = x
  end
end
local flight, room = {}, tonumber(ARGV[4])
for n = 0, ARGV[2] == '0' and 299 or -1 do
  local e = call('ZRANGE', prepare, n, n, 'WITHSCORES')
  if not e[1] then break end
  room = room - #e[1]
  if room < 0 and n > 0 then                      -- of many large ones, the first and the last mark tell enough
    flight[2 * n + 1], flight[2 * n + 2] = '', told(call('ZRANGE', prepare, -1, -1, 'WITHSCORES')[2])
    break
  end
  flight[2 * n + 1], flight[2 * n + 2] = e[1], told(e[2])
end
local entries = {}
if #contents > 0 then
  local waits, flying = call('ZMSCORE', store, unpack(contents)), call('ZMSCORE', prepare, unpack(contents))
  local again, died = call('ZMSCORE', retry, unpack(contents)), call('ZMSCORE', dead, unpack(contents))
  local known = call('HMGET', why, unpack(contents))
  for i = 1, #contents do
    local at = 6 * i - 5
    entries[at], entries[at + 1], entries[at + 2] = contents[i], told(waits[i]), told(flying[i])
    entries[at + 3], entries[at + 4], entries[at + 5] = told(again[i]), told(died[i]), known[i] or ''
  end
end
return {types, head, flight, cursor, entries}
