-- page: some contents of a sorted set, in their order, and never more bytes than asked for.
--
-- GUARANTEE  reads only, one content at a time. Nobody can know how long a content is before it is read, so the
--   caller says how many bytes it takes, and the answer ends before the content that would exceed them.
-- KEYS  1 store, prepare, retry or dead
-- ARGV  1 first rank   2 how many contents at most   3 how many bytes of them at most   4 so many come however
--       long they are   5 'U' from the lowest score up, or 'D' from the highest down   6 7 length and SHA-1 of a
--       content that the asker has met, or 0 and ''. If it is the first one, it comes as '' and counts nothing.
-- ANSWERS  {score of the content that follows the page, or '' if none does; then in pairs: content, score}
local key, call = KEYS[1], redis.call
local from, most, room, least = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local answer = {''}
for n = 0, most do
  local e
  if ARGV[5] == 'D' then e = call('ZRANGE', key, from + n, from + n, 'REV', 'WITHSCORES')
  else e = call('ZRANGE', key, from + n, from + n, 'WITHSCORES') end
  local x, score = e[1], e[2]
  if not x then break end
  local length = #x
  if n == 0 and length > 0 and length == tonumber(ARGV[6]) and redis.sha1hex(x) == ARGV[7] then x, length = '', 0 end
  room = room - length
  if n == most or room < 0 and n >= least then
    answer[1] = score
    break
  end
  answer[2 * n + 2], answer[2 * n + 3] = x, score
end
return answer
