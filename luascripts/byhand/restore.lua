-- restore: brings back what Redis has lost, as a journal has it.
--
-- GUARANTEE  a content that waits, is in flight or waits for its retry stays as it is, and so does a dead one that is to
--   be dead. Any other waits then, with all 17 deliveries, or is dead. So this may be repeated, and two may do it at once.
--   And the number of the slot is not below the one given, unless a batch is in flight. The stamp of a note stays, but for
--   one above the number of the slot.
-- KEYS  1 store   2 prepare   3 retry   4 dead   5 meta   6 why   7 note: of a topic with notes
-- ARGV  1 the largest number that the journal knows of the slot, within 2^53, or 0
--       2.. of each content, 500 at most, or none to raise the number: 'W' waits or 'D' dead, its score there, the content, and
--       of 'W' its note, or '', of 'D' its entry of why
-- ANSWERS  one word each: STORED, or THERE
local store, prepare, retry, dead, meta, why, note = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local call, given = redis.call, tonumber(ARGV[1])
local contents = {}
for i = 4, #ARGV, 4 do contents[#contents + 1] = ARGV[i] end
contents[1] = contents[1] or ''                   -- nothing is so called
-- All that may fail comes before the first write.
local waits = call('ZMSCORE', store, unpack(contents))
local flies = call('ZMSCORE', prepare, unpack(contents))
local again = call('ZMSCORE', retry, unpack(contents))
local died = call('ZMSCORE', dead, unpack(contents))
local number = math.floor(tonumber(call('HGET', meta, 'batch') or '') or 0)
call('HLEN', why)
if note then call('HLEN', note) end
if given > number and call('ZCARD', prepare) == 0 then
  number = given
  call('HSET', meta, 'batch', string.format('%.0f', number))
end
local words, done = {}, {}
for i = 1, #ARGV / 4 do
  local x, verb, score, text = contents[i], ARGV[4 * i - 2], ARGV[4 * i - 1], ARGV[4 * i + 1]
  local word = 'THERE'
  if verb == 'W' and not (waits[i] or flies[i] or again[i] or done[x]) then
    word = 'STORED'
    done[x] = true
    call('ZADD', store, score, x)
    if note and text ~= '' then
      local stamp, rest = string.match(text, '^(%d+)(.*)$')
      call('HSET', note, x, string.format('%.0f%s', math.min(tonumber(stamp), number), rest))
    elseif note then call('HDEL', note, x) end    -- one that is left is of an earlier copy
  elseif verb == 'D' and not (waits[i] or flies[i] or again[i] or died[i] or done[x]) then
    word = 'STORED'
    done[x] = true
    call('ZADD', dead, score, x)
    call('HSET', why, x, text)
  end
  words[i] = word
end
return words
