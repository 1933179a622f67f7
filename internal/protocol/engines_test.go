package protocol_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// Other servers that speak Redis' language run the scripts by rules of their own. Each is tried here as a wrapper around
// what a script calls: all trials pass on it, and so does the random driver.

// wrapped begins a script.
const wrapped = `local redis, string = (function(server, text)
  local call, format = server.call, text.format
  BODY
  return setmetatable({call = call}, {__index = server}), setmetatable({format = format}, {__index = text})
end)(redis, string)
`

// onlyDeclared refuses a key that the call of the script has not named: a server with many threads, or one that spreads the
// keys, must know them before.
const onlyDeclared = `local declared, all = {}, {DEL = true, EXISTS = true}
  for _, key in ipairs(KEYS) do declared[key] = true end
  call = function(command, ...)
    local args = {...}
    for i = 1, all[command] and #args or 1 do
      if command ~= 'TIME' and command ~= 'GET' and not declared[args[i]] then -- GET: the clock of these tests
        error('script tried accessing undeclared key ' .. tostring(args[i]))
      end
    end
    return server.call(command, ...)
  end`

// scoresAsNumbers hands over scores as numbers, where Redis has texts, and formats no fraction by %d, as Lua 5.4.
const scoresAsNumbers = `call = function(command, ...)
    local answer, args = server.call(command, ...), {...}
    if command == 'ZSCORE' then return answer and tonumber(answer) end
    local first, step = 1, 1
    if string.upper(tostring(args[#args])) == 'WITHSCORES' or args[#args - 3] == 'WITHSCORES' then
      first, step = 2, 2
    elseif command ~= 'ZMSCORE' then
      return answer
    end
    for i = first, #answer, step do answer[i] = answer[i] and tonumber(answer[i]) end
    return answer
  end
  format = function(pattern, ...)
    for _, x in ipairs({...}) do
      if string.find(pattern, '%d', 1, true) and tonumber(x) and tonumber(x) ~= math.floor(x) then
        error('number has no integer representation')
      end
    end
    return text.format(pattern, ...)
  end`

func TestOnlyDeclaredKeys(t *testing.T) { onEngine(t, onlyDeclared, nil) }

// (What somebody else has put in with a fraction need not be found again by its score.)
func TestScoresAsNumbers(t *testing.T) { onEngine(t, scoresAsNumbers, oddTrials) }

func onEngine(t *testing.T, body string, but []trial) {
	t.Helper()
	t.Parallel()
	begin := strings.Replace(wrapped, "BODY", body, 1)
	on := func(_, source string) string { return begin + source }
	rdb := near(t)
	for _, name := range slices.Sorted(maps.Keys(trialsOf)) {
		if slices.ContainsFunc(but, func(x trial) bool { return x.name == name }) {
			continue
		}
		if strings.HasPrefix(name, "wrong type: ") || name == "little is read that is not taken" {
			continue // they are about the errors of Redis, and count its reads by a key of their own
		}
		t.Run(name, func(t *testing.T) {
			rdb.FlushAll(ctx)
			if b := caught(func() { trialsOf[name].run(newWorld(t, rdb, 3, on)) }); b != nil {
				t.Errorf("%s: %s", b.rule, b.detail)
			}
			rdb.ConfigSet(ctx, "maxmemory", "0") // a trial that failed may have left it
		})
	}
	w := newWorld(t, rdb, 3, on)
	w.judge = thrower{}
	s := series{seed: uint64(sharetest.Seed(t)), runs: 3 * len(cells), lanes: 1}
	if _, _, failure := s.start(func(int) *world { return w }); failure != "" {
		t.Error(failure)
	}
}
