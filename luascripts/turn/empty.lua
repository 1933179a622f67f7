-- Nothing is due, and `due` is the time of the first retry. Of a kind with times the answer says when the next content will be.
local next_due = kind ~= 'P' and call('ZRANGE', store, 0, 0, 'WITHSCORES')[2]
next_due = math.min(tonumber(next_due or math.huge), due or math.huge)
return {'EMPTY', int(batch), next_due < math.huge and wait(next_due) or '', int(time[2] % 1000)}
