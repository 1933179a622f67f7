package protocol_test

// What plan.lua does when one of its rules is broken.
var planDamages = []damage{
	{"an occurrence is sent where the plan stands at it", driven, ` or ms(due) ~= at`, ``},
	{"by the rule that the worker knows", "plan: another rule", `held ~= text or `, ``},
	{"what waits keeps its score", driven, `local fires = word == 'FIRED'`, `local fires = content ~= ''`},
	{"and is told", driven, `  word = 'WAITS'`, `  word = 'SKIPPED'`},
	{"what is left out is not sent", driven, `if content == '' then`, `if false then`},
	{"a failed copy does not count as waiting", driven, `call('ZSCORE', store, content) or 0) > 16`, `call('ZSCORE', store, content) or 0) > 0`},
	{"but one due at 17 does", "plan: a failed copy", `content) or 0) > 16`, `content) or 0) > 17`},
	{"the plan moves on", driven, `else call('ZADD', plan, following, name) end`, `end`},
	{"and leaves at its end", driven, `then call('ZREM', plan, name) else`, `then else`},
	{"its rule stays then", driven, `then call('ZREM', plan, name) else`, `then call('ZREM', plan, name) call('HDEL', rule, name) else`},
	{"a full server takes no occurrence", "plan: a full server", `local fires =`, `call('ZREM', plan, name) local fires =`},
	{"the note of an older copy goes", "plan: notes", `call('HDEL', note, content) `, ``},
	{"and only where one is sent", "plan: notes", `if fires and note then`, `if note then`},
	{"what waits is wanted for ever", "plan: notes", `elseif noted then`, `elseif false then`},
	{"with its headers", "plan: notes", `(string.gsub(noted, '^(%d+ %d+ %d+ %d+) %d+', '%1 0'))`, `(string.gsub(noted, '^(%d+ %d+ %d+ %d+) %d+.*', '%1 0'))`},
	{"the same rule keeps its plan", driven, `if string.match(held or '', '^%S+ (.*)$') == text then return {'KEPT'} end`, ``},
	{"another one has times of its own", driven, `call('ZADD', plan, following, name)
  if held`, `if not held then call('ZADD', plan, following, name) end
  if held`},
	{"it takes over what the one before owes", driven, `  if due and tonumber(due) <= clock() then following = ms(due) end
`, ``},
	{"and no more", driven, `if due and tonumber(due) <= clock() then`, `if due then`},
	{"also what is due at this ms", "plan: what the rule before owes", `tonumber(due) <= clock()`, `tonumber(due) < clock()`},
	{"it takes the place of the rule that was read", driven, `(held or '') ~= ARGV[6] or `, ``},
	{"where its plan stood", driven, ` or tonumber(due) ~= tonumber(ARGV[7])`, ``},
	{"the whole rule is compared", "plan: another rule", `'^%S+ (.*)$') == text`, `'^%S+ (.*)$'):sub(1, #text) == text`},
	{"with all its lines", "plan: another rule", `'^%S+ (.*)$'`, `'^%S+ ([^\n]*)'`},
	{"its base is noted", driven, `string.format('%s %s', at, text)`, `string.format('%s %s', 1, text)`},
	{"what never occurs is not set", driven, `if following == '' then return {'NEVER'} end`, `if following == '' then following = at end`},
	{"nor ends what was set", "plan: another rule", `if following == '' then return {'NEVER'} end`, `if following == '' then call('HDEL', rule, name) return {'NEVER'} end`},
	{"what was there before is told", driven, `if held then return {'CHANGED'} end`, ``},
	{"an end is for the rule that is named", driven, `if text ~= '' and text ~= held then return 0 end`, ``},
	{"or for any", driven, `if text ~= '' and text`, `if text`},
	{"it takes the plan away", driven, `math.max(call('HDEL', rule, name), call('ZREM', plan, name))`, `call('HDEL', rule, name)`},
	{"and the rule", driven, `math.max(call('HDEL', rule, name), call('ZREM', plan, name))`, `call('ZREM', plan, name)`},
	{"nothing is told before it is due", driven, `if wait > 0 or i`, `if i`},
	{"nor more than asked for", driven, ` or i > 2 * name then`, ` then`},
	{"when the next one is due is told", driven, `answer[2] = math`, `local _ = math`},
	{"also where it is due already", "plan: many are due", `math.max(0, math.min(wait, 1e12))`, `math.max(1, math.min(wait, 1e12))`},
	{"no wait is endless", "plan: many are due", `math.min(wait, 1e12)`, `wait`},
	{"nor too short", "plan: many are due", `math.ceil(math.max(`, `math.floor(math.max(`},
	{"each with its rule", driven, `call('HGET', rule, first[i]) or ''`, `''`},
	{"a wrong plan shows before the first write", "wrong type: plan", `, call('ZSCORE', plan, name)
if`, `, what == 'FIRE' and call('ZSCORE', plan, name)
if`},
	{"a wrong note, too", "wrong type: plan", "local noted = note and call('HGET', note, content)\n", "local noted\n"},
	{"a wrong store, too", "wrong type: plan", `local word = 'FIRED'`, `local word = 'FIRED' call('ZADD', plan, 1, name)`},
}
