-- The batch of another worker that is not proven dead and whose lease is not over: ask again later. Behind this it is mine,
-- or is taken over. Needs `mine`.
local till, lease = tonumber(m[3]) or 0, math.min(LARGEST, tonumber(m[4]) or 0)
if not mine and holder ~= '' and holder ~= ARGV[4] and not (lease > 0 and till < now) then
  if lease > 0 and till > now + 2 * lease then  -- the server's clock stepped back
    till = now + lease
    call('HDEL', meta, 'until')
    call('HSET', meta, 'until', int(till))
  end
  return {'BUSY', holder, wait(till)}
end
