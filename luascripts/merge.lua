-- merge: sends range-merge messages to one slot of a literal topic, where a failed copy may wait in the
-- store with its retries left (1..16) as score. Such a copy does not count as waiting: the send
-- begins a full budget. (Elsewhere ZADD NX does the same, faster.)
--
-- GUARANTEE  a content that waits keeps its first time; every other is stored with the time given.
-- KEYS  1 store       ARGV  in pairs: due ms, content
-- ANSWERS  how many were stored; the others merged
local store, call = KEYS[1], redis.call
local stored = 0
for i = 1, #ARGV, 2 do
  local score = call('ZSCORE', store, ARGV[i + 1])
  if not score or tonumber(score) <= 16 then
    call('ZADD', store, ARGV[i], ARGV[i + 1])
    stored = stored + 1
  end
end
return stored
