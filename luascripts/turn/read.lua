-- Reads contents that may be taken, into x and told: never more than one batch may hold.

-- How many bytes some contents have, which come with scores if the step is 2.
local function bytes_of(few, step)
  local bytes = 0
  for i = 1, #few, step do bytes = bytes + #few[i] end
  return bytes
end
local function mean_of(few, step) return step * bytes_of(few, step) / #few end
-- Takes the first few, if they are all there are and may be one batch. Mostly they are, and then nothing more is read.
local function take_all(few, asked, step)
  local n = #few / step
  if n == 0 or n == asked or bytes_of(few, step) > MOST then return false end
  for i = 1, n do x[i], told[i] = few[step * (i - 1) + 1], step == 2 and few[2 * i] or nil end
  return true
end
-- Reads contents into x after the first `at`: n, or as many as may be in one batch with those, and tells how many
-- and whether that was why. fetch(from, n) brings a piece, with scores if the step is 2. In pieces, as large as
-- the mean lets expect, because what is read costs Redis time and memory even if it is not taken.
local function read(at, n, mean, step, fetch)
  local bytes, k = 0, at
  for i = 1, at do bytes = bytes + #x[i] end
  while k < at + n do
    local size = math.max(1, math.min(64, at + n - k, math.floor((MOST - bytes) / mean)))
    local piece, before = fetch(k - at, size), k
    for i = 1, #piece, step do bytes = bytes + #piece[i] end
    k = k + #piece / step
    if step == 2 then
      for i = 1, k - before do x[before + i], told[before + i] = piece[2 * i - 1], piece[2 * i] end
    elseif before > 0 then
      for i = 1, k - before do x[before + i] = piece[i] end
    else
      x = piece                                   -- mostly the only one
    end
    if bytes > MOST and k > 1 then
      repeat
        bytes = bytes - #x[k]
        if step == 2 then told[k] = nil end       -- else it is the level's, and another one may take its place
        x[k], k = nil, k - 1
      until bytes <= MOST or k == 1
      return k - at, true
    end
    if k < before + size then break end           -- there are no more
    mean = bytes / k
  end
  return k - at, false
end
