-- Writes into `why` that the delivery of x failed, or did not count. The first failure starts a new record.
local function explain(x, left, priority, reason)
  local old = left ~= RETRIES and call('HGET', why, x) or ''
  local died = left > RETRIES and call('ZSCORE', dead, x)
  if left > RETRIES and not died and string.sub(old, 1, 2) ~= '0 ' then old = '' end   -- of a copy that is gone
  local first, kept = string.match(old, '^%d+ (%d+) %d+ (%S+)')
  if priority == '' then priority = kept or '-' end
  local record = {17 - left, first or int(now), int(now), priority, holder == '' and '-' or holder, reason}
  if died then                                  -- and this one of another copy, but for the priority
    local failures, rest = string.match(old, '^(%d+ %d+ %d+) %S+ (.*)$')
    if failures then record = {failures, priority, rest} end
  end
  call('HSET', why, x, table.concat(record, ' '))
end
-- While the field is set, `why` may name contents that are not dead.
local function remember()
  call('HSET', meta, 'why', 1)
  m[6] = '1'
end
