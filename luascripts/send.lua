-- send: sends messages to one slot where a plain ZADD does not do: range merges of a literal topic,
-- whose failed copies wait in the store with their retries left (1..16) as score and do not count as
-- waiting, and slots that may hold only so many contents. (Elsewhere ZADD does the same, faster.)
--
-- GUARANTEE  with the rule 'first', a content that waits keeps its score, and with 'last' it takes the new
--            one; every other is stored, unless the slot is full: then it is refused, and nothing is moved
--            or lost.
-- KEYS  1 store       ARGV  1 rule   2 how many contents the slot may hold (0: any number)
--                           3.. in pairs: score, content
-- ANSWERS  how many were stored, and then the places (1: the first pair) of those refused; the rest merged
local store, rule, most, call = KEYS[1], ARGV[1], tonumber(ARGV[2]), redis.call
local size = most > 0 and call('ZCARD', store) or -math.huge
local answer = {0}
for i = 3, #ARGV, 2 do
  local score = call('ZSCORE', store, ARGV[i + 1])
  if not score and size >= most then
    answer[#answer + 1] = (i - 1) / 2
  elseif rule == 'last' or not score or tonumber(score) <= 16 then
    call('ZADD', store, ARGV[i], ARGV[i + 1])
    if not score then size = size + 1 end
    if not score or rule == 'first' then answer[1] = answer[1] + 1 end
  end
end
return answer
