package luascripts_test

// The damages of the scripts for people. What only reads is compared with a
// reading of the whole slot, so a few of each are enough.

var slotDamages = []damage{
	{"failed ones are counted", "look: everywhere", `call('ZCOUNT', store, '-inf', 16)`, `0`},
	{"all priorities are due", "look: everywhere", `if ARGV[1] ~= 'P' then due`, `if true then due`},
	{"times are due when they are over", "look: everywhere", `if ARGV[1] ~= 'P' then due`, `if false then due`},
	{"the highest priority is next", "look: everywhere", `ARGV[1] == 'P' and -1 or failed`, `failed`},
	{"the earliest time is next", "look: everywhere", `ARGV[1] == 'P' and -1 or failed`, `-1`},
	{"that of a first delivery", "look: everywhere", `ARGV[1] == 'P' and -1 or failed`, `ARGV[1] == 'P' and -1 or 0`},
	{"and of none else", "look: everywhere", `failed < size and`, `size > 0 and`},
	{"a retry is due in its millisecond", "look: everywhere", `int(now * 100 + 99)`, `int(now * 100)`},
	{"the last death", "look: everywhere", `score(dead, -1)`, `score(dead, 0)`},
	{"any text pauses", "pause: by any text", `if m[5] == '' then m[5] = '0' end`, ``},
}

var findDamages = []damage{
	{"larger priorities go before", "look: what goes first", `int(call('ZCARD', store) - call('ZCOUNT', store, '-inf', waits))`, `int(call('ZRANK', store, x))`},
	{"equal priorities are told", "look: what goes first", `ZCOUNT', store, waits, waits) - 1`, `ZCOUNT', store, waits, waits)`},
	{"earlier times go before", "look: what goes first", `before = int(call('ZRANK', store, x))`, `before = int(call('ZCOUNT', store, '-inf', waits) - 1)`},
	{"any text pauses", "pause: by any text", `if m[5] == '' then m[5] = '0' end`, ``},
	{"its note is told", "look: a note", `note and call('HGET', note, x) or ''`, `''`},
}

var auditDamages = []damage{
	{"a wrong type is told, and no more", "wrong type: by hand", "if not sound then return {types} end\n", ""},
	{"a page is as long as asked for", "look: page by page", `n == most or`, `n == most - 1 or`},
	{"a page begins where asked for", "look: page by page", `KEYS[part], from + n, from + n`, `KEYS[part], n, n`},
	{"where the next page begins is told", "look: page by page", `cursor = int(from + n)`, `cursor = int(from)`},
	{"a page of large contents ends early", "look: large contents", `or room < 0 and n >= 2 then`, `then`},
	{"two come however large they are", "look: large contents", `room < 0 and n >= 2`, `room < 0`},
	{"a batch of large contents is cut short", "look: large contents", `if room < 0 and n > 0 then`, `if false then`},
	{"the last mark is told all the same", "look: large contents", `'', call('ZRANGE', prepare, -1, -1, 'WITHSCORES')[2]`, `'', e[2]`},
	{"the batch is told once", "look: page by page", `ARGV[2] == '0' and 299 or -1`, `299`},
	{"the cursor is told", "look: page by page", `cursor = scan[1]`, `cursor = '0'`},
	{"the cursor is followed", "look: page by page", `'HSCAN', why, ARGV[2]`, `'HSCAN', why, 0`},
	{"a whole batch is told", "look: a whole batch", `and 299 or -1`, `and 254 or -1`},
	{"any text pauses", "pause: by any text", `if m[5] == '' then m[5] = '0' end`, ``},
}

var pauseDamages = []damage{
	{"the first time is kept", "pause: stops a slot, and lets it go on", `if (since and '1' or '0') == ARGV[1] then return {0, since or ''} end`, ``},
	{"any text pauses", "pause: by any text", `if since == '' then since = '0' end`, ``},
	{"pauses", driven, `if ARGV[1] == '1' then`, `if false then`},
	{"lets go on", driven, `call('HDEL', meta, 'paused')  `, ``},
	{"passes above maxmemory", "full: pause and resume", `call('HDEL', meta, 'paused')  `, `if ARGV[1] == '0' then call('HDEL', meta, 'paused') end --`},
	{"since now", driven, `time[1] * 1000 + math.floor(time[2] / 1000)`, `time[1] * 1000`},
}

var deadDamages = []damage{
	{"one that died again is left alone", "requeue: another death", ` or math.max(1 - 2 ^ 53, math.min(2 ^ 53 - 1, math.floor(died))) ~= tonumber(ARGV[i + 1])`, ``},
	{"one that is not dead is left alone", "requeue: another death", `not died or math.max(`, `died and math.max(`},
	{"its whole ms", "requeue: another death", `math.floor(died)`, `tonumber(died)`},
	{"whatever it is", "any score in any key", `math.max(1 - 2 ^ 53, math.min(2 ^ 53 - 1, math.floor(died)))`, `math.floor(died)`},
	{"deleted is not delivered", driven, "  elseif ARGV[1] == 'D' then\n    word = 'DELETED'\n", ""},
	{"merges into what waits", "requeue: merges into a live copy", `elseif waits or flying or again then`, `elseif flying or again then`},
	{"merges into what is in flight", "requeue: merges into a live copy", `elseif waits or flying or again then`, `elseif waits or again then`},
	{"merges into a retry", "requeue: merges into a live copy", `elseif waits or flying or again then`, `elseif waits or flying then`},
	{"an unknown priority is not made up", "requeue: which priority", `score = ARGV[2] ~= '' and ARGV[2] or string.match(call('HGET', why, x) or '', '^%d+ %d+ %d+ (%d+)')`,
		`score = ARGV[2] ~= '' and ARGV[2] or string.match(call('HGET', why, x) or '', '^%d+ %d+ %d+ (%d+)') or '17'`},
	{"the priority it was sent with", "requeue: which priority", `'^%d+ %d+ %d+ (%d+)'`, `'^%d+ %d+ (%d+)'`},
	{"the priority given", "requeue: which priority", `ARGV[2] ~= '' and ARGV[2] or string`, `string`},
	{"none that would be retries left", "requeue: which priority", ` or tonumber(score) <= 16 then`, ` then`},
	{"due now", "requeue: stored like a new one", `local score = now`, `local score = '1600000000000'`},
	{"is dead no more", "requeue: stored like a new one", "    call('ZREM', dead, x)\n", ""},
	{"an unknown one stays dead", "requeue: which priority", `if word ~= 'GONE' and word ~= 'UNKNOWN' then`, `if word ~= 'GONE' then`},
	{"what explained the death goes", "requeue: stored like a new one", `if not explains then call('HDEL', why, x)`, `if false then call('HDEL', why, x)`},
	{"what explains a failed one in the store stays", "requeue: merges into a live copy", `waits and tonumber(waits) <= 16 or flying and`, `flying and`},
	{"but not for a fresh one that waits", "requeue: merges into a live copy", `waits and tonumber(waits) <= 16 or`, `waits or`},
	{"what explains a retry in flight stays", "delete: leaves a live copy alone", ` or flying and flying % 1000 < 16`, ``},
	{"but not for a first delivery", "requeue: merges into a live copy", `flying and flying % 1000 < 16`, `flying`},
	{"what explains a retry stays", "delete: leaves a live copy alone", ` or again and again % 100 <= 16`, ``},
	{"but not for one that never failed", "requeue: merges into a live copy", `again and again % 100 <= 16`, `again`},
	{"what was put back keeps its priority", "requeue: merges into a live copy", `if record and again and again % 100 == 18 then`, `if false then`},
	{"and nothing else", "requeue: merges into a live copy", `(string.gsub(record, '^%d+ (%d+ %d+ %S+) .*$', '0 %1 - put back by its handler'))`, `record`},
	{"that is not a dead one's any more", "put back: its dead copy is deleted", "      call('HSET', meta, 'why', 1)\n", ""},
	{"what stays is not a dead one's any more", "full: requeue and delete", `call('HSET', meta, 'why', 1) end`, `end`},
	{"a wrong why shows before the first write", "wrong type: by hand", "call('HLEN', why)\n", "\n"},
	{"a wrong meta shows before the first write", "wrong type: by hand", "call('HLEN', meta)      ", "      "},
	{"what is stored again has no note", driven, `if note then call('HDEL', note, x) end`, ``},
	{"what lives keeps it", "requeue: without its note", "    local noted =", "    if note then call('HDEL', note, x) end\n    local noted ="},
	{"and has no time to live any more", driven, `if noted then`, `if false then`},
	{"but keeps its headers", driven, `(string.gsub(noted, '^(%d+ %d+ %d+ %d+) %d+', '%1 0'))`, `(string.gsub(noted, '^(%d+ %d+ %d+ %d+) %d+.*', '%1 0'))`},
	{"only where it merges", "requeue: without its note", `word == 'MERGED' and note`, `note`},
	{"a wrong note shows before the first write", "wrong type: notes by hand", "if note then call('HLEN', note) end\n", ""},
	{"passes above maxmemory", "full: requeue and delete", "    call('ZREM', dead, x)\n", "    call('HSET', meta, 'lease', 0) call('ZREM', dead, x)\n"},
	{"each by itself", "requeue: 500 of any bytes", `for i = 3, #ARGV, 2 do`, `for i = 3, 4, 2 do`},
}

var rescheduleDamages = []damage{
	{"from now on", "reschedule: what waits", `if ARGV[2] == 'IN' then number = now + number end`, `if ARGV[2] == 'IN' then number = 1600000000000 + number end`},
	{"none that would be retries left", "reschedule: times and priorities that cannot be", `local least, most = 17,`, `local least, most = 0,`},
	{"none that a score cannot hold", "reschedule: times and priorities that cannot be", `17, 2 ^ 53 - 1`, `17, 2 ^ 53`},
	{"no time before 1973", "reschedule: times and priorities that cannot be", `least, most = 1e11,`, `least, most = 17,`},
	{"none after the year 9999", "reschedule: times and priorities that cannot be", `or 253402300800000`, `or 253402300800001`},
	{"no retry that a score cannot hold", "reschedule: times and priorities that cannot be", `again and not waits and 9e13 or`, ``},
	{"but for what waits", "reschedule: a retry", `again and not waits and 9e13 or`, `again and 9e13 or`},
	{"a failed one in the store stays", "reschedule: what does not wait", `if waits and tonumber(waits) > 16 then`, `if waits then`},
	{"what waits first", "reschedule: a retry", `if waits and tonumber(waits) > 16 then`, `if waits and tonumber(waits) > 16 and not again then`},
	{"only a retry, if asked for", "reschedule: a retry", ` and ARGV[4] == '1' then`, ` and false then`},
	{"but only then", "reschedule: what waits", ` and ARGV[4] == '1' then`, ` then`},
	{"a retry has no priority", "reschedule: a retry", `elseif again and ARGV[2] == 'PRIORITY' then`, `elseif false then`},
	{"a retry keeps its attempts", driven, `number * 100 + left`, `number * 100 + 16`},
	{"whatever its score was", "a retry with any score is moved", `left = math.max(1, math.min(17, left)) end`, `left = again % 100 end`},
	{"one that was put back keeps its priority", driven, `if left ~= 18 then`, `if true then`},
	{"one that was put back is looked for until its new time", "reschedule: one that was put back", "  if left == 18 and number > later then call('HSET', meta, 'later', int(number)) end\n", ""},
	{"and no other is", driven, `if left == 18 and number > later`, `if number > later`},
	{"as long as any was to be", driven, `left == 18 and number > later`, `left == 18`},
	{"the store passes above maxmemory", "full: reschedule", "  call('ZREM', store, x)  ", "  "},
	{"the retry passes above maxmemory", "full: reschedule", "  call('ZREM', retry, x)\n", ""},
	{"a wrong prepare shows", "wrong type: by hand", `local flying = call('ZSCORE', prepare, x)`, `local flying = not waits and call('ZSCORE', prepare, x)`},
}
