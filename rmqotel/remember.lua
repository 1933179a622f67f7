-- Remembers from which span contents are sent, before they are, so that the span of their
-- handler can link to it. For traces only: nothing else depends on it.
--
-- Guarantee: the hash has at most `most` contents; each has the copy that was sent last, and
-- the one before it, which may be in flight. What ends without a handler, by a cancellation or too
-- late, is not forgotten. So without room, a call looks at some contents at random, as many as it
-- has and a few more, and drops those that neither wait, are in flight nor come again. If there
-- are none the hash is not kept alive: it ends by its expiry and begins anew. What is dropped
-- may also be a content that is remembered, but not stored yet.
--
-- KEYS: 1 trace{T_N}: content -> copy [older copy]
--         copy = stamp first last sends: the number of the slot at the first send; the
--         traceparents of the first and the last send that merged; how many did
--       2 the store T_N
--       3 meta{T_N}
--       4 prepare{T_N}
--       5 retry{T_N}
-- ARGV: 1 traceparent of this send
--       2 expiry in ms
--       3 most
--       4 … contents
-- Returns how many contents were not remembered, because there was no room.
local trace, store, meta, prepare, retry = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local span, expiry, most = ARGV[1], ARGV[2], tonumber(ARGV[3])

local number = redis.call('HMGET', meta, 'batch')[1] or '0'
local room = most - redis.call('HLEN', trace)
if room < #ARGV - 3 then
  for _, content in ipairs(redis.call('HRANDFIELD', trace, #ARGV + 6)) do
    if not (redis.call('ZSCORE', store, content) or redis.call('ZSCORE', prepare, content) or redis.call('ZSCORE', retry, content)) then
      room = room + redis.call('HDEL', trace, content)
    end
  end
end
local added, left = false, 0
for i = 4, #ARGV do
  local content = ARGV[i]
  local known = redis.call('HMGET', trace, content)[1]
  local copy
  if known then
    local stamp, first, last, sends, older = string.match(known, '^(%d+) (%S+) (%S+) (%d+)(.*)$')
    -- Nothing was taken since, or it waits still: this send will merge into it. If it is in
    -- flight, what waits is another copy.
    local same = stamp == number
    if not same and redis.call('ZSCORE', store, content) then
      same = not redis.call('ZSCORE', prepare, content)
    end
    if same then
      copy = stamp .. ' ' .. first .. ' ' .. span .. ' ' .. (sends + 1) .. older
    else
      copy = number .. ' ' .. span .. ' ' .. span .. ' 1 ' .. stamp .. ' ' .. first .. ' ' .. last .. ' ' .. sends
    end
  elseif room > 0 then
    copy = number .. ' ' .. span .. ' ' .. span .. ' 1'
    room, added = room - 1, true
  end
  if copy then
    redis.call('HSET', trace, content, copy)
  else
    left = left + 1
  end
end
if added then
  redis.call('PEXPIRE', trace, expiry)
end
return left
