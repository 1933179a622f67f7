-- Ends a batch content by content: by the verdicts of its holder, or all of it as failed, where it is taken over (`over` says
-- why). What was handled is in `done` afterwards. Needs give_back and explain, and what unexplain.lua says of `why`.
local verdicts = {}
for i = FIRST_VERDICT, #ARGV, 4 do
  local n, p = tonumber(ARGV[i + 1]), ARGV[i + 2]
  local sound = n and n >= -2 - 1e12 and n <= 1e12 and n % 1 == 0 and ARGV[i + 3] and (p == '' or tonumber(p) and tonumber(p) > RETRIES)
  if not sound then
    return redis.error_reply('RMQ bad verdict on argument ' .. i)
  end
  verdicts[ARGV[i]] = i
end
local done, batched, returned = {}, call('ZRANGE', prepare, 0, -1, 'WITHSCORES')
-- What is read below is read once before the first write: so a wrong type shows, or a right that is missing.
call('ZSCORE', store, batched[1]) call('ZCARD', retry) call('ZSCORE', dead, batched[1]) call('HGET', why, batched[1])
call('DEL', prepare)
for i = 1, #batched, 2 do
  local x, mark = batched[i], tonumber(batched[i + 1])
  local left, at = retries_in(mark % 1000), verdicts[x]
  local n, priority, reason = tonumber(ARGV[8]), '', over
  if at and not over then n, priority, reason = tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3] end
  if not over and not at then
    done[#done + 1] = x
  elseif n <= -2 then                           -- not started, or put back
    give_back(x, mark, left, priority, -2 - n, reason)
  elseif tonumber(call('ZSCORE', store, x) or 0) <= RETRIES then   -- else sent again: the fresh copy wins
    explain(x, left, priority, reason)
    if n == -1 or left == 0 then                -- dead: its worker said so, or this was its last delivery
      returned = returned or tonumber(string.match(call('HMGET', meta, 'mourned')[1] or '', ' (.-)@') or '') or 0
      if returned >= now then                   -- the clock was set back: deaths.lua would leave this one out
        call('HDEL', meta, 'mourned')
      end
      call('ZADD', dead, int(now), x)
    else
      remember()
      if n > 0 then call('ZADD', retry, int((now + n) * 100 + left), x) else call('ZADD', store, left, x) end
    end
  end
end
