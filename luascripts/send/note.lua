-- Messages with a note. `texts` are the notes as they will be, and `writes` is what is written of them.
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
