-- define: writes the definition of a topic unless it has one, and tells the one that holds.
--
-- GUARANTEE  a definition once written never changes. Only its `sharing`, left open by producers, is
--   filled in once, by the first worker whose definition agrees in everything else.
-- KEYS  1 definition
-- ARGV  1 kind   2 slots   3 literal: 0 or 1   4 sharing: redis, zookeeper, or '' if the caller does not care
--       5 layout version
-- ANSWERS  {kind, slots, literal, sharing or '', layout} as they hold now
local key, call = KEYS[1], redis.call
local held = call('HMGET', key, 'kind', 'slots', 'literal', 'sharing', 'layout')
local same = held[1] == ARGV[1] and held[2] == ARGV[2] and held[3] == ARGV[3] and held[5] == ARGV[5]
if not held[1] then
  local time = call('TIME')
  local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
  call('HDEL', key, 'sharing')                    -- (a first write that takes away passes above maxmemory)
  call('HSET', key, 'kind', ARGV[1], 'slots', ARGV[2], 'literal', ARGV[3], 'sharing', ARGV[4],
    'layout', ARGV[5], 'created', now)
elseif same and ARGV[4] ~= '' and (held[4] or '') == '' then
  call('HDEL', key, 'sharing')
  call('HSET', key, 'sharing', ARGV[4])
end
held = call('HMGET', key, 'kind', 'slots', 'literal', 'sharing', 'layout')
return {held[1], held[2], held[3], held[4] or '', held[5]}
