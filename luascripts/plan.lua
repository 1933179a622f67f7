-- plan: what is sent again and again: sets a rule, ends it, tells which occurrences are due, and sends one.
--
-- GUARANTEE  to send an occurrence and to move its plan on to the next one is one step, and happens only where the plan
--   stands at that occurrence, by that rule. So each is sent once, whoever tries, and however often. What waits stays
--   where it is, at most one copy of a content, and has no time to live any more. (A failed copy of a literal topic, which
--   waits in the store with its retries left, 1..16, does not count as waiting.) A rule that is set again unchanged keeps
--   its plan. One that takes the place of another takes over what that one owes: an occurrence that is due and was not
--   sent. One that has come to its end stays, without a plan, so that setting it again does not begin it again.
-- KEYS  1 store  2 plan: name -> ms of its next occurrence  3 rule: name -> 'since JSON', since: the ms from which it
--   counts, and behind a + how often the rule was changed since then  4 note: if the topic has notes
-- ARGV  1 SET, STOP, DUE or FIRE  2 name; with DUE how many at most  3 rule: with SET its JSON; with STOP and FIRE as it
--   is stored, and with STOP '' for any  4 since; with FIRE the ms of the occurrence, as DUE told it
--   5 ms of the occurrence after it; '': there is none  6 content; '': this one is left out  7 its score
--   With SET 6 the rule before, as it is stored, and 7 where its plan stands; '': there is none
-- ANSWERS  set: {ADDED}, {CHANGED}, {KEPT}, {NEVER} where it would have no occurrence, or {STALE} where the rule before
--   or its plan is another: nothing is set then. Stop: 1, or 0 if there was no such rule. Due: {now in ms, in how many
--   ms the next that is not due will be or '', for each that is due: name, its ms, rule or ''}. Fire: {FIRED}, {WAITS} where one waits already,
--   {SKIPPED} where it is left out, or {STALE} where the plan does not stand there: nothing was changed
local store, plan, rule, note, call = KEYS[1], KEYS[2], KEYS[3], KEYS[4], redis.call
local what, name, text, at, following = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
-- Some servers hand a score over as a number.
local function ms(score) return type(score) == 'number' and string.format('%.0f', score) or score end
local function clock()
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
if what == 'DUE' then
  local now = clock()
  local first, answer = call('ZRANGE', plan, 0, name, 'WITHSCORES'), {now, ''}
  for i = 1, #first, 2 do
    local wait = first[i + 1] - now
    if wait > 0 or i > 2 * name then
      answer[2] = math.ceil(math.max(0, math.min(wait, 1e12)))
      break
    end
    answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = first[i], ms(first[i + 1]), call('HGET', rule, first[i]) or ''
  end
  return answer
end

-- All that may fail comes before the first write.
local held, due = call('HGET', rule, name), call('ZSCORE', plan, name)
if what == 'SET' then
  if string.match(held or '', '^%S+ (.*)$') == text then return {'KEPT'} end
  if (held or '') ~= ARGV[6] or tonumber(due) ~= tonumber(ARGV[7]) then return {'STALE'} end
  if following == '' then return {'NEVER'} end
  if due and tonumber(due) <= clock() then following = ms(due) end
  call('HSET', rule, name, string.format('%s %s', at, text))
  call('ZADD', plan, following, name)
  if held then return {'CHANGED'} end
  return {'ADDED'}
elseif what == 'STOP' then
  if text ~= '' and text ~= held then return 0 end
  return math.max(call('HDEL', rule, name), call('ZREM', plan, name))
end
local content = ARGV[6]
local word = 'FIRED'
if content == '' then
  word = 'SKIPPED'
elseif tonumber(call('ZSCORE', store, content) or 0) > 16 then
  word = 'WAITS'
end
local noted = note and call('HGET', note, content)
if held ~= text or ms(due) ~= at then return {'STALE'} end
local fires = word == 'FIRED'
if fires then call('ZADD', store, ARGV[7], content) end      -- first: a full server refuses it, and nothing has changed
if following == '' then call('ZREM', plan, name) else call('ZADD', plan, following, name) end
if fires and note then
  call('HDEL', note, content)                                -- of an older copy: it is not about this one
elseif noted then                                            -- wanted as long as one of its sends is: this one has no end
  call('HSET', note, content, (string.gsub(noted, '^(%d+ %d+ %d+ %d+) %d+', '%1 0')))
end
return {word}
