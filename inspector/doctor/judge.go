package doctor

import (
	"fmt"
	"strings"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/servers/redisinfo"
)

// What the doctor makes of what servers say about themselves.

// unsaid is the finding for a server that does not say, such as one in memory.
var unsaid = ok("the server does not say")

// judge judges each server by what it says about itself. What is found at several is said once.
func judge(name string, servers []server, by func(redisinfo.Info) finding) Check {
	var found []finding
	at := map[finding][]string{}
	for _, s := range servers {
		f := by(s.info)
		if s.infoNo != nil {
			f = warn("not known: "+ask.OneLine(s.infoNo), "grant the Redis user +info, as workers need it to start")
		}
		if at[f] == nil {
			found = append(found, f)
		}
		at[f] = append(at[f], s.addr)
	}
	for i := range found {
		switch addrs := at[found[i]]; {
		case len(servers) == 1 || len(found) == 1 && found[i].level == OK:
		case len(found) == 1:
			found[i].detail = "each server: " + found[i].detail
		case len(addrs) > 1:
			found[i].detail = "servers " + ask.Enough(addrs, ", ") + ": " + found[i].detail
		default:
			found[i].detail = "server " + addrs[0] + ": " + found[i].detail
		}
	}
	return check(name, found)
}

func version(info redisinfo.Info) finding {
	v := info["redis_version"]
	switch {
	case !info.AtLeast(6, 2):
		return fail("Redis "+v, "use Redis 7.0 or newer")
	case v == "":
		return unsaid
	}
	return ok("Redis %s", v)
}

func role(info redisinfo.Info) finding {
	switch info["role"] {
	case "":
		return unsaid
	case "slave":
		return fail("a read-only replica", "connect to its master, or by Sentinels or as to a Cluster")
	}
	return ok("a master")
}

func persistence(info redisinfo.Info) finding {
	const look = "look at the server's log and disk"
	switch {
	case info["loading"] == "1":
		return fail("the server is loading its data", "wait")
	case info["aof_enabled"] == "":
		return unsaid
	case info["aof_enabled"] == "1" && info["aof_last_write_status"] == "err":
		return fail("the last write of the append-only file went wrong", look)
	case info["aof_enabled"] == "1" && info["aof_last_bgrewrite_status"] == "err":
		return warn("the last rewrite of the append-only file went wrong", look)
	case info["rdb_last_bgsave_status"] == "err":
		return warn("the last snapshot went wrong", look+"; Redis may refuse writes meanwhile")
	case info["aof_enabled"] != "1":
		return warn("no append-only file: all that came after the last snapshot, if any is made, is lost when the server stops",
			"set appendonly yes and appendfsync everysec")
	}
	return ok("append-only file, last written well")
}

func eviction(info redisinfo.Info) finding {
	policy := info["maxmemory_policy"]
	switch policy {
	case "":
		return unsaid
	case "noeviction":
		return ok("noeviction")
	}
	return fail("maxmemory-policy "+policy+" deletes waiting messages when memory is full; workers do not start",
		"set maxmemory-policy noeviction")
}

func memory(info redisinfo.Info) finding {
	used, most, what := info.Number("used_memory"), info.Number("maxmemory"), "maxmemory"
	if most == 0 {
		most, what = info.Number("total_system_memory"), "the machine's memory"
	}
	switch {
	case used == 0:
		return unsaid
	case most == 0:
		return ok("%s used", size(used))
	}
	text := fmt.Sprintf("%s used, %d%% of %s", size(used), used*100/most, what)
	switch advice := "make room, or raise maxmemory"; {
	case info.Number("maxmemory") > 0 && used >= most:
		return fail(text+": sends are refused", advice)
	case used*100 >= most*80:
		return warn(text, advice)
	}
	return ok("%s", text)
}

func replicas(info redisinfo.Info) finding {
	const advice, maxLag = "look at the replica and the network to it", 10
	if info["connected_slaves"] == "" {
		return unsaid
	}
	n := info.Number("connected_slaves")
	if n == 0 {
		return warn("none: what the server holds is lost with its machine",
			"add a replica, with Sentinels or a Cluster to fail over")
	}
	for r := range n {
		replica := redisinfo.Info{} // ip=…,port=…,state=online,offset=…,lag=0
		for field := range strings.SplitSeq(info[fmt.Sprintf("slave%d", r)], ",") {
			key, value, _ := strings.Cut(field, "=")
			replica[key] = value
		}
		where := replica["ip"] + ":" + replica["port"]
		if state := replica["state"]; state != "online" {
			return warn(fmt.Sprintf("replica %s is not in sync (%s)", where, state), advice)
		}
		if lag := replica.Number("lag"); lag > maxLag {
			return warn(fmt.Sprintf("replica %s was last heard of %ds ago", where, lag), advice)
		}
	}
	return ok("%d in sync", n)
}

// size is a number of bytes for people.
func size(n int64) string {
	const units = "KMGTP"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n)/1024, 0
	for f >= 1024 && unit < len(units)-1 {
		f, unit = f/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", f, units[unit])
}
