-- Messages with a ceiling. `begins` are waits that begin in this call, and `flying` is how many are in flight.
firsts, begins, flying = call('ZMSCORE', first, unpack(contents)), {}, call('ZCARD', prepare)

-- extended returns when the message at a place, with a ceiling, is due. An entry of `first` may be of an
-- earlier wait: it counts only while the content waits, and until its ceiling has passed.
function extended(at, waits, range, ceiling)
  local since = waits and tonumber(firsts[at] or 0) or 0
  if since + ceiling <= now then
    since, firsts[at] = math.floor(now), ms
    begins[#begins + 1], begins[#begins + 2] = ms, contents[at]
  end
  return string.format('%.0f', math.min(math.ceil(now) + range, since + ceiling))
end
