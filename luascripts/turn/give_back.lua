-- Gives back what was not done: no attempt is spent. What its handler put back waits for `later` ms. Needs explain.
local function give_back(x, mark, left, priority, later, reason)
  local waits, due = tonumber(call('ZSCORE', store, x) or 0), now + later
  if later > 0 and time[2] % 1000 > 0 then due = due + 1 end   -- never early
  if left == RETRIES and kind ~= 'P' then
    local was = tonumber(priority) or mark - left -- due then, if that is known; else the second it was taken
    if later == 0 and was > RETRIES and was < now then due = was end
    if waits > RETRIES and not (kind == 'R' and due < waits) then return end   -- sent again: the fresh copy wins
    call('ZADD', store, int(due), x)
  elseif waits > RETRIES then return              -- and here
  elseif left < RETRIES or priority == '' then call('ZADD', retry, int(due * 100 + left + 1), x)
  elseif later == 0 then call('ZADD', store, priority, x)
  else
    call('ZADD', retry, int(due * 100 + BACK), x)
    m[8] = math.max(due, math.min(LARGEST, tonumber(m[8]) or 0))
    call('HSET', meta, 'later', int(m[8]))
  end
  if later > 0 and left == RETRIES then
    explain(x, RETRIES + 1, priority, reason)
    remember()
  end
end
