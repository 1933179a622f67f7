-- Moves what was chosen (x; or ranks `from` to `to`, and `above`) to prepare, and answers with it. The first write takes away, so it passes above maxmemory.
if from then
  call('ZREMRANGEBYRANK', store, int(from), int(to))
  if above > 0 then call('ZREMRANGEBYRANK', store, -above, -1) end
else
  call('ZREM', store, x[1])
end
if due then call('ZREM', retry, unpack(x)) end    -- a waiting retry of a fresh content is superseded
local add, mark, n = {}, int(second * 1000 + left), #x
for i = 1, n do add[2 * i - 1], add[2 * i] = mark, x[i] end
call('ZADD', prepare, unpack(add))
if holder == me and m[4] == ARGV[5] then call('HSET', meta, 'batch', following, 'until', int(now + ARGV[5]))
else call('HSET', meta, 'holder', me, 'batch', following, 'until', int(now + ARGV[5]), 'lease', ARGV[5]) end
passed = late and passed + (from and n or -PASS) or 0
if behind > 0 then passed = nil elseif passed > 0 then call('HSET', meta, 'passed', passed) elseif m[7] then call('HDEL', meta, 'passed') end
local out = {'BATCH', following, 17 - left, n, unpack(x)}
for i = 1, #told do out[n + 4 + i] = told[i] end
return out
