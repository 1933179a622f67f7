-- define: writes the definition of a topic unless it has one, and tells the one that holds.
--
-- GUARANTEE  a definition once written never changes. Only its `sharing`, left open by producers, is
--   filled in once, by the first worker whose definition agrees in everything else; and beside
--   `zookeeper` its `tree`, once that worker knows it. Its `namespace`, which a restore from a
--   journal may not know, is filled in by the first who tells one and agrees in everything else. Its `maxlate` is no part of what
--   agrees: it is the largest that a worker has told in the last 90 s, where 0 is the largest of all.
-- KEYS  1 definition
-- ARGV  1 kind   2 slots   3 literal: 0 or 1   4 notes: 0 or 1   5 sharing: redis, zookeeper, or '' if the caller does not care
--       6 layout version   7 the id of the tree in ZooKeeper by which the slots are shared out, or ''
--       8 the namespace that is a part of the topic's name; missing: the caller does not tell
--       9 how late the caller handles a message at the most, in ms; 0: however late it is; missing: it does not tell
-- ANSWERS  {kind, slots, literal, notes, sharing or '', layout, tree or '', namespace, maxlate or 0} as they hold now;
--   what the caller told stands for a namespace that is missing
local TOLD = 90000 -- ms
local key, call = KEYS[1], redis.call
local sharing, tree, space, late = ARGV[5], ARGV[7] or '', ARGV[8], ARGV[9]
local held = call('HMGET', key, 'kind', 'slots', 'literal', 'notes', 'sharing', 'layout', 'tree', 'namespace')
local same = held[1] == ARGV[1] and held[2] == ARGV[2] and held[3] == ARGV[3] and held[4] == ARGV[4] and held[6] == ARGV[6]
  and (not space or not held[8] or held[8] == space)
local open = (held[5] or '') == ''
local function clock()
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
if not held[1] then
  same = true
  local now = string.format('%.0f', clock())
  call('HDEL', key, 'sharing')                    -- (a first write that takes away passes above maxmemory)
  call('HSET', key, 'kind', ARGV[1], 'slots', ARGV[2], 'literal', ARGV[3], 'notes', ARGV[4], 'sharing', sharing,
    'layout', ARGV[6], 'created', now)
elseif same and open and sharing ~= '' then
  call('HDEL', key, 'sharing', 'tree')
  call('HSET', key, 'sharing', sharing)
end
held = call('HMGET', key, 'kind', 'slots', 'literal', 'notes', 'sharing', 'layout', 'tree', 'namespace', 'maxlate', 'lateuntil')
if tree ~= '' and same and held[5] == sharing and (held[7] or '') == '' then
  call('HDEL', key, 'tree')
  call('HSET', key, 'tree', tree)
  held[7] = tree
end
if space and same and not held[8] then
  call('HDEL', key, 'namespace')
  call('HSET', key, 'namespace', space)
  held[8] = space
end
if not (late and same and held[5] == sharing and (sharing ~= 'zookeeper' or held[7] == tree)) then
  late = nil -- of who will not work at the topic
end
local most = '0'
if held[9] or late then
  local now, till = clock(), tonumber(held[10] or '') or 0
  local told = held[9] and now < till and till <= now + TOLD -- (else the clock was set back)
  if told then
    most = held[9]
  end
  if late and (not told or late == '0' or most ~= '0' and tonumber(late) >= tonumber(most)) then
    call('HDEL', key, 'maxlate')
    call('HSET', key, 'maxlate', late, 'lateuntil', string.format('%.0f', now + TOLD))
    most = late
  end
end
return {held[1], held[2], held[3], held[4] or '', held[5] or '', held[6], held[7] or '', held[8] or space or '', most}
