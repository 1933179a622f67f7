package luascripts_test

// What turn.lua notes in `why`. (The flag in meta is not needed for any of it:
// it saves a turn without failures the commands. So one rule is missing here,
// "without the flag nothing is looked up".)
var whyDamages = []damage{
	{"done is forgotten, plain finish", driven,
		"  if m[6] then forget(call('ZRANGE', prepare, 0, -1)) end\n", ""},
	{"done is forgotten, finish with verdicts", driven,
		"  forget(done)\nelseif", "elseif"},
	{"only what is done is forgotten", driven,
		`if not m[6] or not done[1] then return end`, `if not m[6] then return end`},
	{"nothing is forgotten where all are dead", "why: what explains a death stays",
		`if names[1] then call('HDEL', why, unpack(names)) end`, `call('HDEL', why, unpack(names))`},
	{"what explains a death stays", "why: what explains a death stays",
		`if not buried[i] then`, `if true then`},
	{"the flag goes when nothing is left to forget", "why: forgotten when done",
		"  if call('HLEN', why) <= call('ZCARD', dead) then call('HDEL', meta, 'why') end\n", ""},
	{"the flag stays while there is", driven,
		`if call('HLEN', why) <= call('ZCARD', dead) then`, `if true then`},
	{"dead ones do not keep the flag", "why: what explains a death stays",
		`call('HLEN', why) <= call('ZCARD', dead)`, `call('HLEN', why) == 0`},
	{"a failure sets the flag", driven,
		"        call('HSET', meta, 'why', 1)\n", ""},
	{"a failure is noted", driven,
		"      note(x, left, priority, reason)\n", ""},
	{"a first failure begins a new record", "why: a first failure begins a new record",
		`local old = left < RETRIES and call('HGET', why, x) or ''`, `local old = call('HGET', why, x) or ''`},
	{"the priority of the first delivery is kept", "why: a record of every failure",
		`priority = kept or '-'`, `priority = '-'`},
	{"the first failure is kept", driven,
		`first or int(now), int(now)`, `int(now), int(now)`},
	{"the last failure is noted", driven,
		`first or int(now), int(now)`, `first or int(now), first or int(now)`},
	{"attempts are counted", driven,
		`{17 - left, first`, `{16 - left, first`},
	{"the worker noted is the holder", driven,
		`holder == '' and '-' or holder, reason}`, `me, reason}`},
	{"an unknown holder is noted as -", "meta is lost",
		`holder == '' and '-' or holder, reason}`, `holder, reason}`},
	{"a death by proof is called so", driven,
		`holder == ARGV[4] and 'its worker died' or `, ``},
}

var touchDamages = []damage{
	{"only the holder", "a touch begins the lease anew", `m[1] ~= ARGV[1] or `, ``},
	{"only that batch", "a touch begins the lease anew", ` or m[2] ~= ARGV[2]`, ``},
	{"the lease that is stored", driven, `tonumber(m[3] or 0)`, `1234`},
	{"begins now", driven, "call('HSET', meta, 'until', string", "string.len(string"},
	{"passes above maxmemory", "full: take, told again, touch", "call('HDEL', meta, 'until')  ", "  "},
}

var cancelDamages = []damage{
	{"removes from the store", driven, `call('ZREM', store, x) + `, ``},
	{"removes from the retries", driven, ` + call('ZREM', retry, x)`, ``},
	{"leaves alone what is in flight", driven, ` + call('ZREM', retry, x)`, ` + call('ZREM', retry, x) + call('ZREM', prepare, x)`},
	{"tells what is in flight", driven, `{math.min(removed, 1), flying}`, `{math.min(removed, 1), 0}`},
	{"removed is one content", "cancel: both copies", `math.min(removed, 1)`, `removed`},
	{"forgets the failure", driven, "if explained then call('HDEL', why, x) end\n", ""},
	{"not that of a dead one", "why: cancel forgets what it removed", ` and not call('ZSCORE', dead, x)`, ``},
	{"not that of one in flight", driven, ` and flying == 0`, ``},
	{"a wrong retry shows before the first write", "wrong type: cancel", "call('ZCARD', retry)  ", "  "},
}

var sendDamages = []damage{
	{"what waits keeps its time", driven, `or not score or tonumber(score) <= 16 then`, `or true then`},
	{"a failed copy does not count as waiting", driven, ` or tonumber(score) <= 16`, ``},
	{"but one due at 17 does", "send in pairs", `tonumber(score) <= 16`, `tonumber(score) <= 17`},
	{"each pair for itself", "send in pairs", `i = 3, #ARGV, 2`, `i = 3, 4, 2`},
	{"tells how many were stored", "send in pairs", `answer[1] = answer[1] + 1`, `answer[1] = 1`},
	{"the last wins where it shall", "send: the last wins", `rule == 'last' or not`, `not`},
	{"told are the new ones then", "send: the last wins", ` or rule == 'first' then answer`, ` or true then answer`},
	{"a full slot takes nothing new", "send: full", `not score and size >= most`, `false`},
	{"what waits merges all the same", "send: full", `not score and size >= most`, `size >= most`},
	{"each new one counts", "send: full", `size = size + 1`, `size = size`},
	{"and no other does", "send: full", `if not score then size`, `if true then size`},
	{"no limit is no limit", "send: full", `most > 0 and call('ZCARD', store) or -math.huge`, `call('ZCARD', store)`},
	{"tells which were refused", "send: full", `(i - 1) / 2`, `i`},
}

// Not here: `ARGV[4] ~= ”`, which only saves writing ” over ”.
var defineDamages = []damage{
	{"the first one holds", "define: the first one holds", `if not held[1] then`, `if not same then`},
	{"sharing never changes", "define: sharing is filled in once", `same and open and sharing`, `same and sharing`},
	{"sharing is filled in", "define: sharing is filled in once", `elseif same and`, `elseif false and`},
	{"not by who disagrees", "define: sharing is filled in once", `elseif same and`, `elseif`},
	{"on the kind", "define: sharing is filled in once", `held[1] == ARGV[1] and `, ``},
	{"on the slots", "define: sharing is filled in once", ` and held[2] == ARGV[2]`, ``},
	{"on literal", "define: sharing is filled in once", ` and held[3] == ARGV[3]`, ``},
	{"on the layout", "define: sharing is filled in once", ` and held[5] == ARGV[5]`, ``},
	{"a definition written by hand", "define: a written one without sharing", "held[3], held[4] or '', held[5], ", "held[3], held[4], held[5], "},
	{"filling in passes above maxmemory", "full: define an existing topic", "  call('HDEL', key, 'sharing', 'tree')\n", ""},
	{"the tree never changes", "define: the tree is filled in once", ` and (held[6] or '') == ''`, ``},
	{"the tree is not filled in by who shares in another way", "define: the tree is filled in once", ` and held[4] == sharing`, ``},
	{"the tree is not filled in by who disagrees", "define: the tree is filled in once", `tree ~= '' and same and`, `tree ~= '' and`},
	{"who opens the sharing frees the tree", "define: the tree is filled in once", `'sharing', 'tree')`, `'sharing')`},
	{"the tree passes above maxmemory", "full: define an existing topic", "  call('HDEL', key, 'tree')\n", ""},
	{"writing again passes above maxmemory", "full: define again what is missing", "call('HDEL', key, 'sharing')                    --", "--"},
}
