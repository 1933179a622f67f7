-- What becomes of each message, in the order of the call.
local each = {}
for n, x in ipairs(contents) do
  local at, i = places[x] or n, 4 + (n - 1) * width
  local score, ceiling = ARGV[i], first and tonumber(ARGV[i + 1 + ceilings])
  local span = seen and tonumber(ARGV[i + 1 + uniques])
  local old = scores[at]
  local waits = old and tonumber(old) > 16
  local outcome = 0
  places[x] = at
  if span and tonumber(untils[at] or 0) > now then
    outcome, score = -2, waits and old or 0
  elseif not old and size >= most then
    outcome = -1
  elseif ceiling and waits and tonumber(old) <= now or not ceiling and rule == 'first' and waits then
    score = old
  else
    if ceiling then score = extended(at, waits, tonumber(score), ceiling) end
    scores[at] = score
    stores[#stores + 1], stores[#stores + 2] = score, x
    if not old then size = size + 1 end
    if not old or rule == 'first' and not waits then outcome = 1 end
  end
  if span and outcome >= 0 then
    untils[at] = string.format('%.0f', math.ceil(now) + span)
    keeps[#keeps + 1], keeps[#keeps + 2] = untils[at], x
  end
  if note and outcome >= 0 then
    texts[at] = noted(waits and texts[at], ARGV[i + 1 + notes])
    writes[#writes + 1], writes[#writes + 2] = x, texts[at]
  end
  each[#each + 1], each[#each + 2] = outcome, tonumber(score)
end
