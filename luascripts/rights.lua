-- rights: tells whether the user who asks may make certain calls, without making them.
--
-- GUARANTEE  reads and writes nothing, and changes nothing.
-- KEYS  none: what a user may not do with a key is asked about here, and Redis refuses a script whose keys
--   the user may not use. The names stand among the arguments.
-- ARGV  1.. calls: each how many words it has, then the words. Enough of them to find the keys by, since a
--   server may end itself when a key is not where it should be
-- ANSWERS  for each call 1: yes, or 0: no; none at all if this Redis cannot tell (before 7.0)
local may, answer, i = redis.acl_check_cmd, {}, 1
while may and i <= #ARGV do
  local words = tonumber(ARGV[i])
  answer[#answer + 1] = may(unpack(ARGV, i + 1, i + words)) and 1 or 0
  i = i + words + 1
end
return answer
