-- send: sends messages to one slot where a plain ZADD does not do: range merges of a literal topic,
-- whose failed copies wait in the store with their retries left (1..16) as score and do not count as
-- waiting, slots that may hold only so many contents, and range merges whose time moves with each send,
-- up to a ceiling. (Elsewhere ZADD does the same, faster.)
--
-- GUARANTEE  with the rule 'first', a content that waits keeps its score, and with 'last' it takes the new
--            one; every other is stored, unless the slot is full: then it is refused, and nothing is moved
--            or lost. With a ceiling, a content is due a range after its last send, and no later than the
--            ceiling after the first send of this wait. What is overdue is never moved.
-- KEYS  1 store  2 first: if a message has a ceiling
-- ARGV  1 rule  2 how many contents the slot may hold (0: any number)
--       3 how many arguments each message has  4.. of each message: score, content; where there are three,
--       also its ceiling in ms or '', and with a ceiling the score is its range in ms
-- ANSWERS  with two arguments each: how many were stored, and then the places (1: the first message) of those
--          refused; the rest merged. With three, of each message: 1 stored, 0 merged or -1 refused; its score
local store, first, call = KEYS[1], KEYS[2], redis.call
local rule, most, width = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local size = most > 0 and call('ZCARD', store) or -math.huge
local eldest = first and call('ZRANGE', first, 0, 9) or {} -- here, so that a wrong type shows before the first write
local now = 0
if first then
  local time = call('TIME')
  now = time[1] * 1000 + time[2] / 1000
end

-- extended returns when a message with a ceiling is due. An entry of `first` may be of an earlier wait: it
-- counts only while the content waits, and until its ceiling has passed.
local function extended(x, waits, range, ceiling)
  local since = waits and tonumber(call('ZSCORE', first, x) or 0) or 0
  if since + ceiling <= now then
    since = math.floor(now)
    call('ZADD', first, string.format('%.0f', since), x)
  end
  return string.format('%.0f', math.min(math.ceil(now) + range, since + ceiling))
end

local stored, refused, each = 0, {}, {}
for i = 4, #ARGV, width do
  local score, x, ceiling = ARGV[i], ARGV[i + 1], width > 2 and tonumber(ARGV[i + 2])
  local old = call('ZSCORE', store, x)
  local waits = old and tonumber(old) > 16
  local outcome = 0
  if not old and size >= most then
    outcome = -1
    refused[#refused + 1] = (i - 4) / width + 1
  elseif ceiling and waits and tonumber(old) <= now or not ceiling and rule == 'first' and waits then
    score = old
  else
    if ceiling then score = extended(x, waits, tonumber(score), ceiling) end
    call('ZADD', store, score, x)
    if not old then size = size + 1 end
    if not old or rule == 'first' and not waits then outcome = 1 end
  end
  if outcome == 1 then stored = stored + 1 end
  if width > 2 then
    each[#each + 1], each[#each + 2] = outcome, tonumber(score)
  end
end

-- What is left of waits that are over goes at last: a full server refuses only the first write.
for _, x in ipairs(eldest) do
  if tonumber(call('ZSCORE', store, x) or 0) <= 16 then call('ZREM', first, x) end
end
if width > 2 then return each end
return {stored, unpack(refused)}
