-- add: adds messages to one slot where a plain ZADD does not do, and they have nothing but a score: range merges
-- of a literal topic, whose failed copies wait in the store with their retries left (1..16) as score and do
-- not count as waiting, and slots that may hold only so many contents. (Elsewhere ZADD does the same, faster.)
--
-- GUARANTEE  with the rule 'first', a content that waits keeps its score, and with 'last' it takes the new
--            one; every other is stored, unless the slot is full: then it is refused, and nothing is moved
--            or lost.
-- KEYS  1 store
-- ARGV  1 rule  2 how many contents the slot may hold (0: any number)  3.. of each message, of 512 at most: score,
--       content
-- ANSWERS  how many were stored, and then the places (1: the first message) of those refused; the rest merged
local store, call = KEYS[1], redis.call
local first, most = ARGV[1] == 'first', tonumber(ARGV[2])
local contents, stores, answer = {}, {}, {0}
for i = 4, #ARGV, 2 do contents[#contents + 1] = ARGV[i] end
local scores = call('ZMSCORE', store, unpack(contents))   -- and by content, of those sent here
local size = most > 0 and call('ZCARD', store) or -math.huge
for n, x in ipairs(contents) do
  local old = scores[x] or scores[n]
  if not old and size >= most then
    answer[#answer + 1] = n
  elseif not (first and old and tonumber(old) > 16) then
    local score = ARGV[1 + 2 * n]
    stores[#stores + 1], stores[#stores + 2], scores[x] = score, x, score
    if not old then size = size + 1 end
    if first or not old then answer[1] = answer[1] + 1 end
  end
end
if stores[1] then call('ZADD', store, unpack(stores)) end
return answer
