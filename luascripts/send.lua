-- send: sends messages that have more than a score to one slot: a ceiling, up to which each send moves what
-- waits, a time in which they are unique, or a note of the sends. What has only a score may be in the call, too.
-- A line `--> file` stands for the lines of that file.
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
  --> send/ceiling.lua
end
if seen then
  ended, untils, keeps = call('ZRANGEBYSCORE', seen, '-inf', ms, 'LIMIT', 0, looks), call('ZMSCORE', seen, unpack(contents)), {}
end
if note then
  --> send/note.lua
end

--> send/decide.lua
if note and writes[1] then call('HSET', note, unpack(writes)) end   -- first: its key may not have been read
if stores[1] then call('ZADD', store, unpack(stores)) end
if first and begins[1] then call('ZADD', first, unpack(begins)) end
if seen and keeps[1] then call('ZADD', seen, unpack(keeps)) end

--> send/left_over.lua
return each
