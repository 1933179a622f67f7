-- send: sends messages that have more than a score to one slot: a ceiling, up to which each send moves what
-- waits, a time in which they are unique, or a note of the sends. What has only a score may be in the call, too.
--
-- GUARANTEE  with the rule 'first', a content that waits keeps its score, and with 'last' it takes the new
--            one; every other is stored, unless the slot is full: then it is refused, and nothing is moved
--            or lost. A failed copy, whose score is its retries left (1..16), does not wait. With a ceiling,
--            a content is due a range after its last send, and no later than the ceiling after the first send
--            of this wait, which goes on when its handler puts it back. What is overdue is never moved. A unique message is a duplicate, and stores and
--            changes nothing, until its time after the last unique send of the content that was stored or
--            merged; no other send is one. A note is about the sends of this wait: its stamp is below the
--            number of every batch that takes what they stored, and not below that of any that is in flight.
-- KEYS  1 store, and behind it for each letter: C first, U seen, N note and meta; with C at last prepare
-- ARGV  1 rule  2 how many contents the slot may hold (0: any number)
--       3 letters, in the order C U N, of what the messages have besides: one at least
--       4.. of each message, of 512 at most: score, content, and for each letter, '' without: C its ceiling in
--       ms, then its score is its range in ms; U for how many ms it is unique; N its time to live in ms (0: for
--       ever) and, behind a space, its headers
-- ANSWERS  of each message: 1 stored, 0 merged, -1 refused or -2 duplicate; and the score with which it waits, or
--          of a duplicate that of what waits, or 0
local store, letters, call = KEYS[1], ARGV[3], redis.call
local rule, most, width = ARGV[1], tonumber(ARGV[2]), 2 + #letters
local ceilings, uniques, notes = string.find(letters, 'C'), string.find(letters, 'U'), string.find(letters, 'N')
local first, seen, prepare = ceilings and KEYS[1 + ceilings], uniques and KEYS[1 + uniques], KEYS[#KEYS]
local note, meta = notes and KEYS[1 + notes], notes and KEYS[2 + notes]

-- At first all that is there is read, so that a wrong type shows before the first write. From then on the tables
-- hold what will be there, at the first place of each content in this call, for one that comes again. What is
-- written goes together, at last.
local contents, places = {}, {}
for i = 5, #ARGV, width do contents[#contents + 1] = ARGV[i] end
local scores, stores = call('ZMSCORE', store, unpack(contents)), {}
local size = most > 0 and call('ZCARD', store) or -math.huge
local time, looks = call('TIME'), 10 + #contents   -- at what is left over: more than are added
local now = time[1] * 1000 + time[2] / 1000
local ms = string.format('%.0f', math.floor(now))
local extended, noted, ended, firsts, untils, texts, begins, keeps, writes, flying
if first then
  firsts, begins, flying = call('ZMSCORE', first, unpack(contents)), {}, call('ZCARD', prepare)

  -- extended returns when the message at a place, with a ceiling, is due. An entry of `first` may be of an
  -- earlier wait: it counts only while the content waits, and until its ceiling has passed.
  function extended(at, waits, range, ceiling)
    local since = waits and tonumber(firsts[at] or 0) or 0
    if since + ceiling <= now then
      since, firsts[at] = math.floor(now), ms
      begins[#begins + 1], begins[#begins + 2] = ms, contents[at]
    end
    return string.format('%.0f', math.min(math.ceil(now) + range, since + ceiling))
  end
end
if seen then
  ended, untils, keeps = call('ZRANGEBYSCORE', seen, '-inf', ms, 'LIMIT', 0, looks), call('ZMSCORE', seen, unpack(contents)), {}
end
if note then
  local number = math.floor(tonumber(call('HGET', meta, 'batch') or '') or 0)
  -- The next one is the clock in us, at least. So were those of batches that Redis has forgotten in a failover.
  local before = math.floor(now * 1000 + 0.5) - 1
  if not (number > before and number < 2 ^ 53) then number = before end
  local stamp, fresh, waiting, at = string.format('%.0f', number), {}, {}, {}
  texts, writes = {}, {}
  for n, score in ipairs(scores) do
    if score then waiting[#waiting + 1], at[#at + 1] = contents[n], n end
  end
  for i, text in ipairs(waiting[1] and call('HMGET', note, unpack(waiting)) or {}) do texts[at[i]] = text end

  -- noted returns the note of a content after one more send. The old one may be of an earlier copy: it goes
  -- on only while the content waits. Then the message is wanted as long as one of its sends is. Of new ones that
  -- live equally long, the notes begin alike.
  function noted(old, told)
    local ttl, headers = string.match(told, '^(%d*)(.*)$')
    local sends, since, till, kept = string.match(old or '', '^%d+ (%d+) (%d+) %d+ (%d+)(.*)$')
    if not sends and fresh[ttl] then return string.format('%s%s', fresh[ttl], headers) end
    local ends = tonumber(ttl) or 0
    if ends > 0 then ends = math.floor(now + ends) end
    if not sends then
      fresh[ttl] = string.format('%s 1 %s %s %.0f', stamp, ms, ms, ends)
      return string.format('%s%s', fresh[ttl], headers)
    end
    till = tonumber(till)
    ends = math.min(ends, till) > 0 and math.max(ends, till) or 0
    if headers == '' then headers = kept end
    return string.format('%s %.0f %s %s %.0f%s', stamp, sends + 1, since, ms, ends, headers)
  end
end

local each = {}
for n, x in ipairs(contents) do
  local at, i = places[x] or n, 4 + (n - 1) * width
  local score, ceiling = ARGV[i], first and tonumber(ARGV[i + 1 + ceilings])
  local span = seen and tonumber(ARGV[i + 1 + uniques])
  local old = scores[at]
  local waits = old and tonumber(old) > 16
  local outcome = 0
  places[x] = at
  if span and tonumber(untils[at] or 0) > now then
    outcome, score = -2, waits and old or 0
  elseif not old and size >= most then
    outcome = -1
  elseif ceiling and waits and tonumber(old) <= now or not ceiling and rule == 'first' and waits then
    score = old
  else
    if ceiling then score = extended(at, waits, tonumber(score), ceiling) end
    scores[at] = score
    stores[#stores + 1], stores[#stores + 2] = score, x
    if not old then size = size + 1 end
    if not old or rule == 'first' and not waits then outcome = 1 end
  end
  if span and outcome >= 0 then
    untils[at] = string.format('%.0f', math.ceil(now) + span)
    keeps[#keeps + 1], keeps[#keeps + 2] = untils[at], x
  end
  if note and outcome >= 0 then
    texts[at] = noted(waits and texts[at], ARGV[i + 1 + notes])
    writes[#writes + 1], writes[#writes + 2] = x, texts[at]
  end
  each[#each + 1], each[#each + 2] = outcome, tonumber(score)
end
if note and writes[1] then call('HSET', note, unpack(writes)) end   -- first: its key may not have been read
if stores[1] then call('ZADD', store, unpack(stores)) end
if first and begins[1] then call('ZADD', first, unpack(begins)) end
if seen and keeps[1] then call('ZADD', seen, unpack(keeps)) end

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
return each
