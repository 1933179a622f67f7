-- What was put back takes its place in the store again, once its time has come. Retries may stand before it. r and `due`, the
-- first of `retry` and its time, are read anew.
if due and due <= now and (m[8] or r[2] % 100 == BACK) then
  local waiting = call('ZRANGEBYSCORE', retry, '-inf', int(now * 100 + 99), 'WITHSCORES', 'LIMIT', 0, 256)
  local back, moved, fresh = {}, {}, {}
  for i = 1, #waiting, 2 do
    if waiting[i + 1] % 100 == BACK then back[#back + 1] = waiting[i] end
  end
  if back[1] then
    local stored, records = call('ZMSCORE', store, unpack(back)), call('HMGET', why, unpack(back))
    for i = 1, #back do
      local again = tonumber(stored[i] or 0) > RETRIES   -- sent again: merges into the fresh copy
      local priority = math.min(LARGEST, tonumber(string.match(records[i] or '', '^%d+ %d+ %d+ (%d+) ') or 0))
      if again or priority > RETRIES then moved[#moved + 1] = back[i] end   -- else unknown: it goes alone
      if not again and priority > RETRIES then fresh[#fresh + 1], fresh[#fresh + 2] = int(priority), back[i] end
    end
  end
  if moved[1] then call('ZREM', retry, unpack(moved)) end
  if fresh[1] then call('ZADD', store, unpack(fresh)) end
  local more = #waiting == 512
  if more and #moved > 128 then return {'EMPTY', int(batch), 0, 0} end   -- others may go before these
  if m[8] and now >= (tonumber(m[8]) or 0) and not more then call('HDEL', meta, 'later') end
  r, due = call('ZRANGE', retry, 0, 0, 'WITHSCORES'), nil
  if r[1] then due = math.floor(r[2] / 100) end  -- not by `and`: the Lua of rmqtest would keep the old one
end
