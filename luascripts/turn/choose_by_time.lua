-- Of a time kind: those that are due, the oldest first, and a retry alone. Needs `alone` and read.lua.
local few, till = math.min(8, count + 1), int(now)
local first = call('ZRANGEBYSCORE', store, '-inf', till, 'LIMIT', '0', int(few))
local oldest = tonumber(first[1] and call('ZSCORE', store, first[1]) or math.huge)
retries_first = due and (wanted == 'F' or due <= oldest)
if oldest <= RETRIES then
  alone(first[1], oldest)
elseif take_all(first, few, 1) then
  from, to = 0, #x - 1
elseif first[1] then
  from, to = 0, read(0, count, mean_of(first, 1), 1, function(i, n) return call('ZRANGEBYSCORE', store, '-inf', till, 'LIMIT', int(i), int(n)) end) - 1
end
