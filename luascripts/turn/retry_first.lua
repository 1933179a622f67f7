-- The first retry (r) goes before the fresh ones that were chosen, where the choice wants it (`retries_first`), unless its
-- content waits again: then the fresh copy wins.
if retries_first and due and due <= now then
  if tonumber(call('ZSCORE', store, r[1]) or 0) > RETRIES then
    call('ZREM', retry, r[1])                     -- sent again: the old copy merges into the fresh one
  else
    alone(r[1], r[2] % 100)
  end
end
