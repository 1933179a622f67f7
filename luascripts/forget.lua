-- forget: removes notes of contents that are over: of some that are named, or of those in the next piece of all notes.
--
-- GUARANTEE  a content that waits, is in flight or waits for its retry keeps its note, whoever calls this, and
--   whenever. So a late call does no harm: what was sent again since is there, and keeps its note.
-- KEYS  1 store   2 prepare   3 retry   4 note
-- ARGV  1 cursor of the next piece, '0' at first; or '', and then 2.. contents
-- ANSWERS  {how many notes were removed, cursor to go on with: '0' after the last piece, and with contents}
local store, prepare, retry, note, call = KEYS[1], KEYS[2], KEYS[3], KEYS[4], redis.call
local names, cursor, bytes, looks, removed = {}, '0', 0, 0, 0
if ARGV[1] == '' then
  for i = 2, #ARGV do names[i - 1] = ARGV[i] end
else
  cursor = ARGV[1]
  repeat                                          -- a hash that is small comes as a whole
    local some = call('HSCAN', note, cursor, 'COUNT', 10)
    cursor, looks = some[1], looks + 1
    for i = 1, #some[2] do
      bytes = bytes + #some[2][i]
      if i % 2 == 1 then names[#names + 1] = some[2][i] end
    end
  until cursor == '0' or #names >= 100 or bytes > 500000 or looks == 100  -- few may have a large table
end
for from = 1, #names, 200 do
  local to, over = math.min(from + 199, #names), {}
  local waits = call('ZMSCORE', store, unpack(names, from, to))
  local flies = call('ZCARD', prepare) > 0 and call('ZMSCORE', prepare, unpack(names, from, to)) or {}
  local again = call('ZCARD', retry) > 0 and call('ZMSCORE', retry, unpack(names, from, to)) or {}
  for i = from, to do
    local at = i - from + 1
    if not (waits[at] or flies[at] or again[at]) then over[#over + 1] = names[i] end
  end
  if over[1] then removed = removed + call('HDEL', note, unpack(over)) end
end
return {removed, cursor}
