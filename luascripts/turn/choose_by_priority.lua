-- Of a priority topic: the highest, drawn at random among equal ones, and a retry alone. Needs `alone` and read.lua.
local few, random = math.min(4, count + 1), tonumber(ARGV[7])
local top = call('ZREVRANGE', store, '0', int(few - 1), 'WITHSCORES')
-- Failed ones of a literal topic stand below every priority. Those that somebody else wrote are found in time.
local low = top
if #top < 2 * few then low = {top[#top - 1], top[#top]}
elseif m[6] or m[7] or random % 16 == 0 or tonumber(top[2]) <= RETRIES then low = call('ZRANGE', store, 0, 0, 'WITHSCORES') end
local failed = tonumber(low[2] or math.huge) <= RETRIES
late = failed or due and due <= now
retries_first = tonumber(top[2] or 0) <= RETRIES or late and (wanted == 'F' or passed >= PASS)
if failed and retries_first then
  alone(low[1], tonumber(low[2]))
elseif not failed and take_all(top, few, 2) then
  from, to = -#x, -1
elseif top[1] then
  -- Of the lowest level taken, `size` contents stand in the store and k of them are taken, from a random
  -- place: else the equal ones that sort last would starve. (Some near the ends of the level are drawn up
  -- to twice as often as the mean, none much less.)
  local level, size, k, full = top[2], call('ZCOUNT', store, top[2], top[2]), count, nil
  if size >= count then
    told[1] = level
  else
    k, full = read(0, count, mean_of(top, 2), 2, function(i, n) return call('ZREVRANGE', store, i, i + n - 1, 'WITHSCORES') end)
    while tonumber(told[k]) <= RETRIES do x[k], told[k], k = nil, nil, k - 1 end   -- a retry goes alone
    level, above = told[k], k
    while told[above] == level do above = above - 1 end
    size = (full or k == count) and call('ZCOUNT', store, level, level) or k - above
    k = k - above
  end
  local skip = math.max(0, math.min(size - k, random % (size + k - 1) - k + 1))
  if size > k or not x[1] then
    local n = k
    local function window(i, some) return call('ZREVRANGE', store, above + skip + i, above + skip + i + some - 1) end
    k, full = read(above, n, mean_of(top, 2), 1, window)
    if full then                                -- then from any of them on, or the last ones would starve
      local first = math.floor(random / (size + n - 1)) % n
      skip = skip + first
      k = read(above, n - first, MOST / 4, 1, window)
    end
    for i = above + n, above + k + 1, -1 do x[i], told[i] = nil, nil end
  end
  from, to = -above - skip - k, -above - skip - 1
end
