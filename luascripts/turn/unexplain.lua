-- Takes contents that are done out of `why`. What explains a death stays.
local function unexplain(done)
  if not m[6] or not done[1] then return end
  local buried, names = call('ZMSCORE', dead, unpack(done)), {}
  for i = 1, #done do
    if not buried[i] then names[#names + 1] = done[i] end
  end
  if names[1] then call('HDEL', why, unpack(names)) end
  if call('HLEN', why) > call('ZCARD', dead) then return end
  -- A failed one in the store may have its record in common with an older copy that is dead.
  local low = call('ZRANGE', store, 0, 0, 'WITHSCORES')[2]
  if tonumber(low or math.huge) > RETRIES then call('HDEL', meta, 'why') end
end
