-- remove: deletes keys of one slot, or those of a topic as a whole, unless something is in the way.
--
-- GUARANTEE  all of them are deleted, or none.
-- KEYS  those to be deleted, all of one hash slot; first the sorted sets that may be in the way
-- ARGV  1 how many these are   2 they are in the way if a member has this score or more
-- ANSWERS  1: deleted; 0: something is in the way
local call = redis.call
for i = 1, tonumber(ARGV[1]) do
  if call('ZCOUNT', KEYS[i], ARGV[2], '+inf') > 0 then return 0 end
end
call('UNLINK', unpack(KEYS))
return 1
